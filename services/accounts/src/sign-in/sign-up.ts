import { accountsSignUp, type AnswerBodyOf, type ReceivedOf } from '@gateway/contracts/messages';
import { ATTEMPT_LIMITS } from '../base/attempt-rules.js';
import { countAttempts } from '../base/count-attempts.js';
import { queueNotice } from '../mail/queue-notice.js';
import type { BeginSignInDeps } from './passwords.js';
import { toAccountView } from '../accounts/rules.js';
import type { SignInStore, SignInTx } from './store.js';
import type { MakeId } from '../base/rules.js';
import type { QueuedSignUp } from '../mail/store.js';

/**
 * Accepts a sign-up. {@link completeSignUp} reads the address after the response, so that neither
 * the response nor its duration reveals whether it has a user.
 */
export async function signUp(
  { store, nowMs }: BeginSignInDeps,
  { name, email, origin }: ReceivedOf<typeof accountsSignUp>,
): Promise<AnswerBodyOf<typeof accountsSignUp>> {
  return store.change(async (tx) => {
    const throttled = await countAttempts(
      tx,
      [{ limit: ATTEMPT_LIMITS.signUpClient, subject: origin.client }],
      nowMs(),
    );
    if (throttled) return throttled;
    await tx.queueSignUp({ name, email: email.toLowerCase(), origin });
    return { kind: 'accepted' };
  });
}

export interface SignUpDeps {
  readonly store: Pick<SignInStore, 'change'>;
  readonly makeId: MakeId;
  readonly nowMs: () => number;
}

/**
 * Creates a user with a personal account, and emails the link that verifies the address and sets
 * the first password. A user with a verified address gets an email about the existing account. A
 * user with an unverified address, who has no password, gets another verification link.
 */
export async function completeSignUp(
  { store, makeId, nowMs }: SignUpDeps,
  row: { readonly body: unknown },
): Promise<void> {
  const request = accountsSignUp.body.parse(row.body);
  await store.change(async (tx) => {
    const now = nowMs();
    const wanted = { id: makeId('usr'), email: request.email, signedUpAt: now };
    const user = await tx.ensureUser(wanted);
    if (user.id === wanted.id) await makeAccount(tx, request, user.id, makeId);
    await queueNotice(tx, { notice: user.emailVerified ? 'known_address' : 'verify', user: user.id }, now);
  });
}

async function makeAccount(tx: SignInTx, request: QueuedSignUp, user: string, makeId: MakeId): Promise<void> {
  const id = makeId('acc');
  const account = await tx.insertAccount({ id, name: request.name, type: 'personal', externalId: null, command: null });
  const owner = await tx.insertMember({
    id: makeId('mem'),
    account: id,
    user,
    role: 'owner',
    capNanoUsd: null,
    command: null,
  });
  const after = toAccountView({ account, owner, user: { id: user, email: request.email, emailVerified: false } });
  const author = { actor: `user:${user}`, origin: request.origin };
  await tx.audit({ author, action: 'sign_up', account: id, objectId: id, before: null, after });
}
