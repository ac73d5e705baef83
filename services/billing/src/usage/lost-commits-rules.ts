import { UUID_PATTERN } from '@gateway/contracts/ids';
import type { SettledPosition } from './progress-rules.js';

/** Which database a connection sees, and where its log stands. */
export interface DatabasePosition {
  /** Another text after the server was started anew, promoted, restored or replaced. */
  readonly database: string;
  readonly timeline: number;
  /** Bytes of the write-ahead log. */
  readonly logBytes: number;
}

/** Messages of the stream from one position to another, both included. */
export interface MessageRange {
  readonly from: number;
  readonly to: number;
}

/** What the ledger says of itself, in one snapshot. */
export interface LedgerLook extends DatabasePosition {
  readonly ledgerEpoch: string;
  /** Of the last restore. */
  readonly consumers: string;
  /** Blocks of all hash chains: every charge and every wallet entry is in one. */
  readonly blocks: number;
  readonly settled: SettledPosition;
  /** Messages that are not settled, up to the position that was asked for; the first of them. */
  readonly missing: readonly MessageRange[];
}

/** What was true when billing last looked, kept where the database is not. */
export interface KeptPosition extends SettledPosition {
  /** Not kept by releases before docs/decisions/0113. */
  readonly ledgerEpoch?: string | undefined;
  readonly consumers: string;
  readonly timeline: number;
  readonly logBytes: number;
  readonly blocks: number;
}

/** The ledger, as it is compared. */
export interface LostCommitsStore {
  /** One snapshot; what is missing, up to `upTo` and as far as it was asked for. */
  look(upTo: number): Promise<LedgerLook>;
  /**
   * A new ledger epoch, later than `former` and `seen`, and for every account a balance snapshot
   * that makes admission load it anew. Null: it has another epoch than `former` already.
   */
  beginEpochAfter(former: string, seen: string): Promise<string | null>;
}

/**
 * - `whole`: nothing is known that the ledger lacks.
 * - `superseded`: a database that was promoted away, or in whose place a backup was restored:
 *   another one is the ledger.
 * - `behind`: a ledger that was restored, and has not settled again what the one before it had.
 * - `cut`: commits are lost, or may be: the log was promoted, or stands before what was seen.
 */
export type Wholeness = 'whole' | 'superseded' | 'behind' | 'cut';

/** Compares the ledger with what was kept. Which messages it lost is found out from the stream. */
export function wholenessOf(look: LedgerLook, kept: KeptPosition | null): Wholeness {
  if (kept === null) return 'whole';
  if (kept.consumers !== look.consumers) {
    if (placeOf(look.ledgerEpoch) < placeOf(kept.ledgerEpoch)) return 'superseded';
    return look.settled.sequence < kept.sequence ? 'behind' : 'whole';
  }
  if (look.timeline < kept.timeline) return 'superseded';
  const isShorter = look.logBytes < kept.logBytes || look.blocks < kept.blocks;
  return look.timeline > kept.timeline || isShorter ? 'cut' : 'whole';
}

/** Epochs are UUIDs of version 7, which are in order; those of releases before count as earlier. */
function placeOf(ledgerEpoch = ''): string {
  return UUID_PATTERN.test(ledgerEpoch) ? ledgerEpoch : '';
}

export function keptOf({ ledgerEpoch, consumers, settled, timeline, logBytes, blocks }: LedgerLook): KeptPosition {
  return { ledgerEpoch, consumers, ...settled, timeline, logBytes, blocks };
}
