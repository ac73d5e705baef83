import type { accountsSignUp, AnswerBodyOf, ReceivedOf } from '@gateway/contracts/messages';
import { toAccountView } from '../domain/views.js';
import type { AccountsStore, MakeId } from '../ports.js';
import type { AccountsTx } from '../tx-ports.js';
import { queueNotice } from './queue-notice.js';

export interface SignUpPorts {
  readonly store: Pick<AccountsStore, 'change'>;
  readonly makeId: MakeId;
  readonly nowMs: () => number;
}
type SignUp = ReceivedOf<typeof accountsSignUp>;

/**
 * Makes a person with a personal account, and mails the link that verifies the address. Somebody whose address is known, with or
 * without a password, is mailed that instead: a stranger can neither learn nor change anything of it.
 */
export async function signUp(
  { store, makeId, nowMs }: SignUpPorts,
  request: SignUp,
): Promise<AnswerBodyOf<typeof accountsSignUp>> {
  return store.change(async (tx) => {
    const wanted = { id: makeId('usr'), email: request.email.toLowerCase() };
    const user = await tx.ensureUser(wanted);
    const isNew = user.id === wanted.id;
    if (isNew) await makeAccount(tx, request, user.id, makeId);
    await queueNotice(tx, { notice: isNew ? 'verify' : 'known_address', user: user.id }, nowMs());
    return { kind: 'accepted' };
  });
}

async function makeAccount(tx: AccountsTx, { name, email, passwordHash }: SignUp, user: string, makeId: MakeId) {
  await tx.setPassword(user, passwordHash);
  const id = makeId('acc');
  const account = await tx.insertAccount({ id, name, type: 'personal', command: null });
  const owner = await tx.insertMember({
    id: makeId('mem'),
    account: id,
    user,
    role: 'owner',
    capNanoUsd: null,
    command: null,
  });
  const after = toAccountView({ account, owner, user: { id: user, email: email.toLowerCase(), emailVerified: false } });
  await tx.audit({ actor: `user:${user}`, action: 'sign_up', account: id, objectId: id, before: null, after });
}
