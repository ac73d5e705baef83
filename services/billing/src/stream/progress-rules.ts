/** A message of the stream whose events are all settled by the transaction that records it. */
export interface SettledMessage {
  readonly sequence: number;
  readonly storedAtMs: number;
}

/** Messages of the stream from one position to another, both inclusive. */
export interface MessageRange {
  readonly from: number;
  readonly to: number;
}

/** The position up to which every message of the stream is settled. */
export interface SettledPosition {
  readonly sequence: number;
  /** When that message was stored, epoch milliseconds; 0 if none is settled. */
  readonly storedAtMs: number;
}

export interface StreamState {
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** When the oldest and newest message were stored, epoch milliseconds; null: empty stream. */
  readonly firstAtMs: number | null;
  readonly lastAtMs: number | null;
  /** Stored bytes as a share of the maximum: 0 to 1. */
  readonly filled: number;
}

/** A delivery and the stream's state may round a message's time differently. */
export const STORED_AT_ROUNDING_MS = 2;

/**
 * Returns true if all messages of the stream's state are settled. The comparison of the times
 * detects a position that was counted in an earlier, deleted stream.
 */
export function isSettled(position: SettledPosition, { lastSequence, lastAtMs }: StreamState): boolean {
  if (lastAtMs === null) return true;
  return position.sequence >= lastSequence && position.storedAtMs >= lastAtMs - STORED_AT_ROUNDING_MS;
}

/**
 * Returns true if the messages up to `sequence` may be deleted from this stream. The floor must
 * have passed the stream's first message, which proves that the position was counted in this
 * stream. A stream that was created again is shorter, or all of its messages were stored after the
 * floor. Floor and sequence must be read before the stream's state.
 */
export function mayTrim(floor: SettledPosition, sequence: number, { firstAtMs, lastSequence }: StreamState): boolean {
  if (firstAtMs === null || sequence > lastSequence) return false;
  return floor.storedAtMs >= firstAtMs - STORED_AT_ROUNDING_MS;
}
