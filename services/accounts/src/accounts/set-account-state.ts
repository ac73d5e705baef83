import type { ReceivedOf, accountsSetAccountState } from '@gateway/contracts/messages';
import { refuse, type AccountView, type ManagementRefusal } from '@gateway/contracts/operator';
import { answerInForce, type PendingChange, type ChangeDeps } from '../base/in-force.js';
import { withAccountState, toAccountRecord, toAccountView } from './rules.js';
import { accountClosed } from '../base/rules.js';
import type { AccountStore, AccountTx } from './store.js';

export type ChangeAccountDeps = ChangeDeps<Pick<AccountStore, 'change'>>;
export type SetAccountState = ReceivedOf<typeof accountsSetAccountState>;
interface Answer {
  account: AccountView;
}

/**
 * Suspends or reinstates an account. Responds after admission has applied the change. A repeated
 * verb changes nothing and waits until the earlier change is applied. Keys keep their own states.
 */
export async function setAccountState(
  { store, inForce, nowMs }: ChangeAccountDeps,
  request: SetAccountState,
): Promise<Answer | ManagementRefusal> {
  return answerInForce(inForce, await store.change((tx) => setState(tx, request, nowMs)));
}

async function setState(
  tx: AccountTx,
  { account: id, verb, author }: SetAccountState,
  nowMs: () => number,
): Promise<PendingChange<Answer> | ManagementRefusal> {
  const account = await tx.lockAccount(id);
  if (!account) return refuse('not_found', 'there is no such account');
  const owner = await tx.membership(id, null);
  if (!owner) throw new Error('an account has no owner');
  const view = (of: typeof account) => toAccountView({ account: of, owner: owner.member, user: owner.user });
  const next = withAccountState(account, verb, nowMs());
  if (!next) return accountClosed();
  const after = view(next);
  if (next !== account) {
    await tx.updateAccount(next);
    await tx.audit({ author, action: `${verb}_account`, account: id, objectId: id, before: view(account), after });
    await tx.publishChange(id, next, { accounts: [toAccountRecord(next)] });
  }
  return { account: id, object: next, answer: { account: after } };
}
