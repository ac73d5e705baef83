import type { ReceivedOf, accountsCloseAccount } from '@gateway/contracts/messages';
import { isRefusal, refuse, type AccountView, type ManagementRefusal } from '@gateway/contracts/operator';
import { answerInForce, type PendingChange, type InForce } from '../base/in-force.js';
import { type ApiKey, nextVersion } from '../base/rules.js';
import { toAccountRecord, toAccountView } from './rules.js';
import { toKeyRecord } from '../keys/rules.js';
import type { AccountStore, AccountTx } from './store.js';
import type { BillingClient } from '../base/billing.js';

export interface CloseAccountDeps {
  readonly store: Pick<AccountStore, 'change' | 'account'>;
  readonly billing: Pick<BillingClient, 'closeAccount'>;
  readonly inForce: InForce;
  readonly nowMs: () => number;
}
export type CloseAccount = ReceivedOf<typeof accountsCloseAccount>;
interface Answer {
  account: AccountView;
}

/** Maximum number of keys in one message to admission. */
export const KEYS_PER_MESSAGE_MAX = 100;

/**
 * Closes an account permanently. First billing ends the subscription; it refuses if the wallet is
 * not zero. Then one transaction revokes the keys and erases names and addresses. If the process
 * dies in between, the account has no funds, and closing it again completes the work. Responds
 * after admission has applied the account's state, which ends its running calls.
 */
export async function closeAccount(
  { store, billing, inForce, nowMs }: CloseAccountDeps,
  request: CloseAccount,
): Promise<Answer | ManagementRefusal> {
  if (!(await store.account(request.account))) return refuse('not_found', 'there is no such account');
  const closed = await billing.closeAccount(request.account, request.author);
  if (isRefusal(closed)) return closed;
  return answerInForce(inForce, await store.change((tx) => close(tx, request, nowMs())));
}

async function close(
  tx: AccountTx,
  { account: id, author }: CloseAccount,
  now: number,
): Promise<PendingChange<Answer>> {
  const account = await tx.lockAccount(id);
  if (!account) throw new Error('an account is gone');
  if (account.state === 'closed') return changed(tx, id);
  const next = { ...account, state: 'closed' as const, version: nextVersion(account, now) };
  await tx.updateAccount(next);
  const keys = await tx.revokeKeys(id, now);
  const entriesErased = await tx.eraseClosedAccount(id);
  await tx.publishErasure(id);
  await tx.audit({
    author,
    action: 'close_account',
    account: id,
    objectId: id,
    before: { state: account.state },
    after: { state: next.state, keysRevoked: keys.length, auditEntriesErased: entriesErased },
  });
  // The first message already refuses all calls. It is followed by the keys that did not fit into
  // it.
  await tx.publishChange(id, next, {
    accounts: [toAccountRecord(next)],
    keys: keys.slice(0, KEYS_PER_MESSAGE_MAX).map(toKeyRecord),
  });
  for (let at = KEYS_PER_MESSAGE_MAX; at < keys.length; at += KEYS_PER_MESSAGE_MAX)
    await publishKeys(tx, id, keys.slice(at, at + KEYS_PER_MESSAGE_MAX));
  return changed(tx, id);
}

async function publishKeys(tx: AccountTx, account: string, keys: readonly ApiKey[]): Promise<void> {
  if (keys[0]) await tx.publishChange(account, keys[0], { keys: keys.map(toKeyRecord) });
}

async function changed(tx: AccountTx, id: string): Promise<PendingChange<Answer>> {
  const account = await tx.lockAccount(id);
  const owner = await tx.membership(id, null);
  if (!account || !owner) throw new Error('an account has no owner');
  const view = toAccountView({ account, owner: owner.member, user: owner.user });
  return { account: id, object: account, answer: { account: view } };
}
