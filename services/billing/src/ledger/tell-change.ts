import type { BalanceSnapshot, ReceivedOf, admissionApply } from '@gateway/contracts/messages';
import type { LedgerState } from './store.js';

/** A row of the outbox to admission. */
export interface ToldChange {
  /** Names one change of the account. */
  readonly change: string;
  readonly standing: BalanceSnapshot;
}

export interface TellDeps {
  /** Of the database that has the change; null: the one that answers has it not. */
  readonly stateWith: (told: ToldChange) => Promise<Pick<LedgerState, 'database' | 'ledgerEpoch'> | null>;
  /** Whether that database was compared under its epoch (docs/protocol.md#r17). */
  readonly isLedger: (database: string) => boolean;
  readonly apply: (body: Pick<ReceivedOf<typeof admissionApply>, 'standing'>) => Promise<unknown>;
}

/**
 * Tells admission a change, under the epoch that the ledger has now. A ledger that may have lost
 * commits tells nothing until it was compared: a version that it counts again is one that admission
 * has already, so that the change would be taken for an old one.
 * @throws Error when the ledger was not compared yet, or has lost the change, or admission did not
 *   take it: a change that is there is to be told again
 */
export async function tellChange({ stateWith, isLedger, apply }: TellDeps, told: ToldChange): Promise<void> {
  const state = await stateWith(told);
  if (state === null) throw new Error('the ledger does not have this change any more');
  if (!isLedger(state.database)) throw new Error('this ledger was not compared with the stream yet');
  await apply({ standing: { incarnation: state.ledgerEpoch, accounts: [told.standing] } });
}
