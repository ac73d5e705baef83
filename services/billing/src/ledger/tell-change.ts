import type { BalanceSnapshot, ReceivedOf, admissionApply } from '@gateway/contracts/messages';
import type { LedgerState } from './store.js';

export interface TellDeps {
  /** Of the database that has the change. */
  readonly state: () => Promise<Pick<LedgerState, 'database' | 'ledgerEpoch'>>;
  /** Whether that database was compared under its epoch (docs/protocol.md#r17). */
  readonly mayUse: (database: string) => boolean;
  readonly apply: (body: Pick<ReceivedOf<typeof admissionApply>, 'standing'>) => Promise<unknown>;
}

/**
 * Tells admission a change, under the epoch that the ledger has now. A ledger that may have lost
 * commits tells nothing until it was compared: a version that it counts again is one that admission
 * has already, so that the change would be taken for an old one.
 * @throws Error when the ledger was not compared yet, or admission did not take the change: it is
 *   to be told again
 */
export async function tellChange({ state, mayUse, apply }: TellDeps, change: BalanceSnapshot): Promise<void> {
  const { database, ledgerEpoch } = await state();
  if (!mayUse(database)) throw new Error('this ledger was not compared with the stream yet');
  await apply({ standing: { incarnation: ledgerEpoch, accounts: [change] } });
}
