import type { KeptPosition } from '../recovery/lost-commits-rules.js';
import type { RestoreStore } from '../stream/progress-store.js';

export interface StoredMessages {
  /** The oldest message that is still in the stream. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** When the oldest and the newest message were stored, epoch milliseconds; null: no message. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
}

export type RestoreOutcome =
  | {
      readonly kind: 'restored';
      readonly ledgerEpoch: string;
      readonly accounts: number;
      /** Messages newer than the backup; they will be settled again. */
      readonly toSettle: number;
      readonly lost: number;
    }
  /** Messages newer than the backup have been deleted from the stream. */
  | { readonly kind: 'gap'; readonly lost: number; readonly floor: number; readonly first: number };

/**
 * Returns the position that billing must settle before it serves a load from the restored ledger:
 * the end of the stream. It replaces the position that was kept for the earlier ledger.
 */
export function computePositionToReach(
  ledgerEpoch: string,
  { lastSequence, lastAt }: Pick<StoredMessages, 'lastSequence' | 'lastAt'>,
): KeptPosition {
  const settled = { sequence: lastSequence, storedAtMs: lastAt ?? 0 };
  return { ...settled, ledgerEpoch, consumers: '', timeline: 0, logBytes: 0, blocks: 0 };
}

/**
 * Declares a copy of the ledger, restored from a backup, to be the ledger (docs/protocol.md#r17).
 * No billing process may run meanwhile. Under a new ledger epoch the consumers begin at the first
 * message of the stream, so everything since the backup is settled again, and admission unloads
 * each account that receives the new epoch. The stream does not contain wallet entries made since
 * the backup: their senders repeat them under the same references. Messages that were trimmed since
 * the backup are lost, so a gap is refused unless the operator accepts it.
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
