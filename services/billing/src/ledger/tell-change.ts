import type { BalanceSnapshot, ReceivedOf, admissionApply } from '@gateway/contracts/messages';
import type { LedgerState } from './store.js';

/** An outbox row for admission. */
export interface PublishedChange {
  /** Identifies one change of the account. */
  readonly change: string;
  readonly snapshot: BalanceSnapshot;
}

export interface PublishChangeDeps {
  /** Returns the state of the database if it contains the change, or else null. */
  readonly stateWith: (told: PublishedChange) => Promise<Pick<LedgerState, 'database' | 'ledgerEpoch'> | null>;
  /** Returns true if that database was verified under its epoch (docs/protocol.md#r17). */
  readonly isLedger: (database: string) => boolean;
  readonly apply: (body: Pick<ReceivedOf<typeof admissionApply>, 'snapshots'>) => Promise<unknown>;
}

/**
 * Sends a change to admission under the current ledger epoch. A ledger that may have lost commits
 * sends nothing until it is verified: it could count a version again that admission already has,
 * and admission would ignore the change as an old one.
 * @throws Error if the ledger is not verified yet or has lost the change, or if admission did not
 * apply it. If the change still exists, it is sent again.
 */
export async function publishChange(
  { stateWith, isLedger, apply }: PublishChangeDeps,
  told: PublishedChange,
): Promise<void> {
  const state = await stateWith(told);
  if (state === null) throw new Error('the ledger has lost this change');
  if (!isLedger(state.database)) throw new Error('the ledger is not yet compared with the stream');
  await apply({ snapshots: { ledgerEpoch: state.ledgerEpoch, accounts: [told.snapshot] } });
}
