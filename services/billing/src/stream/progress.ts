import { isSettled, mayTrim, type SettledPosition, type StreamState } from './progress-rules.js';
import type { ProgressStore } from './progress-store.js';
import type { Stream } from './stream.js';

/**
 * Interval for moving the floor. No query depends on it: the settled position includes the applied
 * messages above the floor.
 */
export const TRACK_MS = 1_000;
/** Interval for trimming the stream (docs/protocol.md#r15). */
export const TRIM_MS = 10_000;
/** Settled messages are kept for this time, for a restored ledger to settle them again. */
export const REPLAY_RESERVE_MS = 3_600_000;
/** Share of the stream that settled messages may take. */
export const RESERVE_SHARE_MAX = 0.5;

export interface Progress {
  readonly position: SettledPosition;
  readonly stream: StreamState;
}

/** Moves the floor to the end of the contiguous settled run. */
export async function trackProgress(
  store: ProgressStore,
  stream: Stream,
  log: { warn(state: object, text: string): void },
): Promise<Progress> {
  const floor = await store.floor();
  const state = await stream.state();
  // Skips the transaction if no new message was stored.
  if (state.lastSequence === floor.sequence && isSettled(floor, state)) {
    return { position: floor, stream: state };
  }
  const { position, restarted } = await store.advance(state, floor);
  if (restarted)
    log.warn(
      { position, stream: state },
      'the usage stream was created again; its messages are counted from the start',
    );
  return { position, stream: state };
}

/**
 * Deletes settled messages that are older than the replay reserve. A mark of that age contains a
 * position whose messages were all stored before the mark. If the stream is filled beyond the
 * reserve's share, all settled messages are deleted: admission stops at a full stream, and settled
 * messages must not fill it. Unsettled messages are never deleted, independent of the clocks, and a
 * stream that was created again is not trimmed before the floor is counted in it.
 *
 * One race remains, because JetStream deletes by position only. If the stream is created again
 * between the check and the deletion, messages that were stored in these milliseconds are deleted.
 * If the new stream is already longer and its server's clock is behind the former server's clock,
 * its messages up to the old position are deleted.
 */
export async function trimStream(store: ProgressStore, stream: Stream, reserveMs = REPLAY_RESERVE_MS): Promise<number> {
  const floor = await store.floor();
  const { sequence } = await store.settledPosition();
  const state = await stream.state();
  if (!mayTrim(floor, sequence, state)) return 0;
  await store.mark(sequence);
  const marked = await store.markedBefore(reserveMs);
  const reserved = marked === null ? 0 : Math.min(marked, sequence);
  const upTo = state.filled > RESERVE_SHARE_MAX ? sequence : reserved;
  if (upTo > 0) await stream.trim(upTo);
  return upTo;
}
