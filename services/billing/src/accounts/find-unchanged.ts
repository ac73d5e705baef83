import type { AnswerBodyOf, billingUnchanged, ReceivedOf } from '@gateway/contracts/messages';
import { type LoadDeps, waitForStream } from './load-account.js';
import type { LoadStore } from './load-store.js';
import type { UnchangedStore } from './unchanged-store.js';

export interface UnchangedDeps extends Omit<LoadDeps, 'store'> {
  readonly store: Pick<LoadStore, 'settledPosition'> & UnchangedStore;
}

export type UnchangedAnswer =
  { readonly kind: 'answered'; readonly answer: AnswerBodyOf<typeof billingUnchanged> } | { readonly kind: 'behind' };

/**
 * Which accounts are as admission has kept them through a loss of its store, under the conditions
 * of a load after a loss: everything is settled that was stored before, and the database is the
 * ledger (docs/protocol.md#r12).
 */
export async function findUnchanged(
  deps: UnchangedDeps,
  { accounts }: ReceivedOf<typeof billingUnchanged>,
): Promise<UnchangedAnswer> {
  const askedAt = deps.now();
  if ((await waitForStream(deps, askedAt)) === null) return { kind: 'behind' };
  const found = await deps.store.unchanged(accounts, askedAt);
  if (!deps.mayUse(found.database)) return { kind: 'behind' };
  return { kind: 'answered', answer: { incarnation: found.ledgerEpoch, accounts: found.accounts } };
}
