import type { AnswerBodyOf, billingUnchanged, ReceivedOf } from '@gateway/contracts/messages';
import { type LoadDeps, waitForStream } from './load-account.js';
import type { LoadStore } from './load-store.js';
import type { UnchangedStore } from './unchanged-store.js';

export interface UnchangedDeps extends Omit<LoadDeps, 'store'> {
  readonly store: Pick<LoadStore, 'settledPosition'> & UnchangedStore;
}

export type UnchangedAnswer =
  | { readonly kind: 'answered'; readonly answer: AnswerBodyOf<typeof billingUnchanged> }
  | { readonly kind: 'behind' };

/**
 * Finds the accounts whose data in the limit store still equals the ledger after a loss of the
 * limit store. The conditions are those of a load after a loss: every event that was stored before
 * is settled, and the database is the ledger (docs/protocol.md#r12).
 */
export async function findUnchanged(
  deps: UnchangedDeps,
  { accounts }: ReceivedOf<typeof billingUnchanged>,
): Promise<UnchangedAnswer> {
  const askedAt = deps.now();
  if ((await waitForStream(deps, askedAt)) === null) return { kind: 'behind' };
  const found = await deps.store.unchanged(accounts, askedAt);
  if (!deps.mayUse(found.database)) return { kind: 'behind' };
  return { kind: 'answered', answer: { ledgerEpoch: found.ledgerEpoch, accounts: found.accounts } };
}
