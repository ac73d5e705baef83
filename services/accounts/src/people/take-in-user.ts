import type { User } from '../domain/objects.js';
import type { AccountsTx } from '../tx-ports.js';

/**
 * The user of an address, for an account that they are given or invited to by somebody else. Whoever signed up with the address
 * and never verified it may be a stranger: password, sessions and tokens of theirs go before anything is given, so that only
 * who reads the mails of the address gets in. A verified user keeps all of it.
 */
export async function takeInUser(tx: AccountsTx, wanted: User, actor: string): Promise<User> {
  const user = await tx.ensureUser(wanted);
  if (user.emailVerified) return user;
  await dropUnproven(tx, user.id, actor);
  if (!wanted.emailVerified) return user;
  // Last, so that nothing of a stranger's becomes the verified person's.
  await tx.verifyUser(user.id);
  return { ...user, emailVerified: true };
}

async function dropUnproven(tx: AccountsTx, user: string, actor: string): Promise<void> {
  const person = await tx.lockPerson(user);
  if (person === null || person.passwordHash === null) return;
  await tx.setPassword(user, null);
  await tx.endSessions(user, []);
  await tx.forgetMailTokens(user, null);
  await tx.audit({ actor, action: 'drop_unproven_password', account: null, objectId: user, before: null, after: null });
}
