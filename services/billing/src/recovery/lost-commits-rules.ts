import type { MessageRange, SettledPosition } from '../stream/progress-rules.js';

/** Identifies the database of a connection, and the position of its log. */
export interface DatabasePosition {
  /** Changes when the server is restarted, promoted, restored or replaced. */
  readonly database: string;
  readonly timeline: number;
  /** Bytes of the write-ahead log. */
  readonly logBytes: number;
}

/** The ledger's data about itself, read in one snapshot. */
export interface LedgerSnapshotState extends DatabasePosition {
  readonly ledgerEpoch: string;
  /** Name of its consumers: the epoch of the last restore. */
  readonly consumers: string;
  /** Number of blocks in all hash chains, which contain every charge and every wallet entry. */
  readonly blocks: number;
  readonly settled: SettledPosition;
  /** Ranges of unsettled messages up to the given position; at most the first 100. */
  readonly missing: readonly MessageRange[];
}

/** The result of billing's last check, stored outside the database. */
export interface KeptPosition extends SettledPosition {
  readonly ledgerEpoch: string;
  readonly consumers: string;
  readonly timeline: number;
  readonly logBytes: number;
  readonly blocks: number;
}

/** The ledger's side of the comparison. */
export interface LostCommitsStore {
  /** Reads one snapshot, with the missing messages up to `upTo`. */
  readState(upTo: number): Promise<LedgerSnapshotState>;
  /**
   * Begins a new ledger epoch that is later than `former` and `seen`, and enqueues a balance
   * snapshot for each account that makes admission load it again. Returns null if `former` is
   * not the current epoch.
   */
  beginEpochAfter(former: string, seen: string): Promise<string | null>;
}

/**
 * - `complete`: the ledger has everything that is known.
 * - `superseded`: the database was replaced by a promoted copy or a restored backup; another
 *   database is the ledger.
 * - `behind`: the ledger was restored, and has not yet settled all messages of the former ledger
 *   again.
 * - `suspect`: commits are lost or may be lost: the log was promoted, or is shorter than before.
 */
export type LedgerCompleteness = 'complete' | 'superseded' | 'behind' | 'suspect';

/**
 * Compares the ledger with the kept position. Epochs are UUIDs of version 7, which are in order.
 * The stream shows which messages are missing.
 */
export function compareWithKept(ledger: LedgerSnapshotState, kept: KeptPosition | null): LedgerCompleteness {
  if (kept === null) return 'complete';
  if (kept.consumers !== ledger.consumers) {
    if (ledger.ledgerEpoch < kept.ledgerEpoch) return 'superseded';
    return ledger.settled.sequence < kept.sequence ? 'behind' : 'complete';
  }
  if (ledger.timeline < kept.timeline) return 'superseded';
  const isShorter = ledger.logBytes < kept.logBytes || ledger.blocks < kept.blocks;
  return ledger.timeline > kept.timeline || isShorter ? 'suspect' : 'complete';
}

export function toKeptPosition({
  ledgerEpoch,
  consumers,
  settled,
  timeline,
  logBytes,
  blocks,
}: LedgerSnapshotState): KeptPosition {
  return { ledgerEpoch, consumers, ...settled, timeline, logBytes, blocks };
}
