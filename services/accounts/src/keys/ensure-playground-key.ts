import type { ReceivedOf, accountsEnsurePlaygroundKey } from '@gateway/contracts/messages';
import { NO_KEY_TERMS, refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import { answerInForce, type PendingChange } from '../base/in-force.js';
import { rotated, secretTaken, toKeyRecord, toKeyView } from './rules.js';
import { accountClosed, type MakeId } from '../base/rules.js';
import type { KeyTx } from './store.js';
import type { ChangeKeyDeps } from './change-key.js';

export type EnsurePlaygroundKey = ReceivedOf<typeof accountsEnsurePlaygroundKey>;
export type EnsurePlaygroundKeyDeps = ChangeKeyDeps & { readonly makeId: MakeId };
interface Answer {
  key: string;
}

/** The mask shows nothing of the secret, because no user sees it. */
const NAME = 'Playground';
const MASKED_SECRET = 'internal';

/**
 * Creates a member's internal playground key (docs/behaviour.md#playground), or replaces its
 * digest. The key rules do not apply: each call is checked against the limits, including the
 * member's cap. Responds after admission has the digest, because admission looked for it earlier
 * and remembers unknown digests for a while.
 */
export async function ensurePlaygroundKey(
  deps: EnsurePlaygroundKeyDeps,
  request: EnsurePlaygroundKey,
): Promise<Answer | ManagementRefusal> {
  return answerInForce(deps.inForce, await deps.store.change((tx) => ensure(tx, request, deps)));
}

async function ensure(
  tx: KeyTx,
  request: EnsurePlaygroundKey,
  { makeId, nowMs }: EnsurePlaygroundKeyDeps,
): Promise<PendingChange<Answer> | ManagementRefusal> {
  const { account, member, digest, author } = request;
  const locked = await tx.lockAccount(account);
  if (!locked) return refuse('not_found', 'there is no such account');
  if (locked.state === 'closed') return accountClosed();
  // Checked under the lock, so that a member who is being deleted gets no key.
  if (!(await tx.membership(account, member))) return refuse('not_found', 'the account has no such member');
  const key = await tx.playgroundKey(member);
  if (!key) return make(tx, request, makeId('key'), nowMs());
  if (key.digest === digest) return { account, object: key, answer: { key: key.id } };
  const now = nowMs();
  const next = rotated(key, { digest, maskedSecret: MASKED_SECRET }, now);
  if (!next) throw new Error('playground key of a current member is not active');
  if (!(await tx.updateSecret(next))) return secretTaken();
  const before = toKeyView(key, now);
  const after = toKeyView(next, now);
  await tx.audit({ author, action: 'rotate_playground_key', account, objectId: key.id, before, after });
  await tx.publishChange(account, next, { keys: [toKeyRecord(next)] });
  return { account, object: next, answer: { key: key.id } };
}

async function make(
  tx: KeyTx,
  { account, member, digest, author }: EnsurePlaygroundKey,
  id: string,
  now: number,
): Promise<PendingChange<Answer> | ManagementRefusal> {
  const key = await tx.insertKey({
    id,
    account,
    member,
    kind: 'playground',
    name: NAME,
    digest,
    maskedSecret: MASKED_SECRET,
    expiresAt: null,
    capNanoUsd: null,
    ...NO_KEY_TERMS,
    externalId: null,
    command: null,
  });
  if (!key) return secretTaken();
  const after = toKeyView(key, now);
  await tx.audit({ author, action: 'create_playground_key', account, objectId: id, before: null, after });
  await tx.publishChange(account, key, { keys: [toKeyRecord(key)] });
  return { account, object: key, answer: { key: id } };
}
