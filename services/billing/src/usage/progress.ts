import { isSettled, mayTrim, type SettledPosition, type StreamState } from './progress-rules.js';
import type { ProgressStore } from './progress-store.js';
import type { Stream } from './stream.js';

/**
 * How often the floor is moved. Nobody waits for it: who asks what is settled counts what is
 * applied above it.
 */
export const TRACK_MS = 1_000;
/** How often the stream is trimmed (docs/protocol.md#r15). */
export const TRIM_MS = 10_000;
/**
 * Settled messages younger than this stay in the stream, so that they can be replayed into a
 * restored ledger.
 */
export const REPLAY_RESERVE_MS = 3_600_000;
/** Share of the stream that settled messages may take. */
export const RESERVE_SHARE_MAX = 0.5;

export interface Progress {
  readonly position: SettledPosition;
  readonly stream: StreamState;
}

/** Moves the floor over everything that is settled without a gap. */
export async function trackProgress(
  store: ProgressStore,
  stream: Stream,
  log: { warn(state: object, text: string): void },
): Promise<Progress> {
  const floor = await store.floor();
  const state = await stream.state();
  // Nothing came since: there is nothing to move, and no transaction is needed to see that.
  if (state.lastSequence === floor.sequence && isSettled(floor, state)) {
    return { position: floor, stream: state };
  }
  const { position, restarted } = await store.advance(state, floor);
  if (restarted)
    log.warn({ position, stream: state }, 'the usage stream was made anew; its messages are counted afresh');
  return { position, stream: state };
}

/**
 * Deletes from the stream what is settled and older than the replay reserve: what a mark of that
 * age names was stored before the mark. A stream that is filled beyond the reserve's share keeps
 * only what is unsettled: admission stops at a full stream, and settled messages must not be what
 * fills it. Nothing unsettled is ever deleted, whatever the clocks say, and nothing of a stream
 * that was made anew before the floor is counted in it. What remains: JetStream deletes by position
 * alone. Of a stream that is made anew between the look at it and the deletion, what was stored in
 * these milliseconds is deleted. So is what lies below the old position in one that is longer by
 * then and whose server's clock is behind that of the server before.
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
