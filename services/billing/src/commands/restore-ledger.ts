import type { KeptPosition } from '../usage/lost-commits-rules.js';
import type { RestoreStore } from '../usage/progress-store.js';

export interface StoredMessages {
  /** The oldest message that the stream still has. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** When the oldest and the newest were stored, epoch milliseconds; null: there is none. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
}

export type RestoreOutcome =
  | {
      readonly kind: 'restored';
      readonly ledgerEpoch: string;
      readonly accounts: number;
      /** Messages that the backup does not know and that will be settled again. */
      readonly toSettle: number;
      readonly lost: number;
    }
  /** Messages that the backup does not know have left the stream. */
  | { readonly kind: 'gap'; readonly lost: number; readonly floor: number; readonly first: number };

/**
 * What billing has to settle before it answers a load from the restored ledger: all that is stored
 * now, whatever was kept of the ledger before it.
 */
export function positionToReach(
  ledgerEpoch: string,
  { lastSequence, lastAt }: Pick<StoredMessages, 'lastSequence' | 'lastAt'>,
): KeptPosition {
  const settled = { sequence: lastSequence, storedAtMs: lastAt ?? 0 };
  return { ...settled, ledgerEpoch, consumers: '', timeline: 0, logBytes: 0, blocks: 0 };
}

/**
 * Declares a copy of the ledger, restored from a backup, to be the ledger (docs/protocol.md#r17),
 * while no billing runs: under a new ledger epoch consumers begin at the stream's first message, so
 * that everything since the backup is settled again, and admission unloads every account that gets
 * it. Wallet entries made since the backup are in no stream: their senders repeat them under
 * their references. Messages that were trimmed since are lost for good, so that a gap is
 * refused unless it is accepted.
 */
export async function restoreLedger(
  store: RestoreStore,
  stream: StoredMessages,
  acceptLoss: boolean,
): Promise<RestoreOutcome> {
  const floor = await store.floorSequence();
  const { firstSequence: first, lastSequence: last } = stream;
  const lost = Math.max(0, first - 1 - floor);
  if (lost > 0 && !acceptLoss) return { kind: 'gap', lost, floor, first };
  const accepted = lost > 0 ? { sequence: first - 1, storedAtMs: stream.firstAt ?? 0 } : null;
  const begun = await store.beginLedgerEpoch(accepted);
  return { kind: 'restored', ...begun, toSettle: Math.max(0, last - Math.max(floor, first - 1)), lost };
}
