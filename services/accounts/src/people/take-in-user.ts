import type { User } from '../objects.js';
import type { AccountsTx } from '../tx-ports.js';

/**
 * The user of an address, for an account that they are given or invited to by somebody else. Whoever signed up with the address and
 * never verified it may be a stranger, but has neither password nor session: only who reads the mails of the address gets in.
 */
export async function takeInUser(tx: Pick<AccountsTx, 'ensureUser' | 'verifyUser'>, wanted: User): Promise<User> {
  const user = await tx.ensureUser({ id: wanted.id, email: wanted.email });
  if (user.emailVerified || !wanted.emailVerified) return user;
  await tx.verifyUser(user.id);
  return { ...user, emailVerified: true };
}
