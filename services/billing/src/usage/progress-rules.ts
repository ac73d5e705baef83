/** How far the stream is settled: every message up to `sequence` is. */
export interface SettledPosition {
  readonly sequence: number;
  /** When that message was stored, epoch milliseconds; 0 when none is settled. */
  readonly storedAtMs: number;
}

export interface StreamState {
  readonly firstSequence: number;
  readonly lastSequence: number;
  /**
   * When the oldest and the newest message were stored, epoch milliseconds; null while there is
   * none.
   */
  readonly firstAtMs: number | null;
  readonly lastAtMs: number | null;
  /** Bytes stored, of those that the stream may hold: 0 to 1. */
  readonly filled: number;
}

/**
 * The times of one message, from a delivery and from the stream's state, may be rounded to
 * milliseconds differently.
 */
export const STORED_AT_ROUNDING_MS = 2;

/**
 * Whether everything is settled that was in the stream. The time tells a position in a stream that
 * is no more from one beyond the end that was seen.
 */
export function isSettled(position: SettledPosition, { lastSequence, lastAtMs }: StreamState): boolean {
  if (lastAtMs === null) return true;
  return position.sequence >= lastSequence && position.storedAtMs >= lastAtMs - STORED_AT_ROUNDING_MS;
}

/**
 * Whether what is settled up to `sequence` may be deleted from this stream: the floor has passed
 * its first message, so it was counted there. A stream that was made anew is shorter, or all of it
 * was stored after the floor. Floor and sequence were read before the stream.
 */
export function mayTrim(floor: SettledPosition, sequence: number, { firstAtMs, lastSequence }: StreamState): boolean {
  if (firstAtMs === null || sequence > lastSequence) return false;
  return floor.storedAtMs >= firstAtMs - STORED_AT_ROUNDING_MS;
}
