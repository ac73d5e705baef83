import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from '../context.js';
import { type Load, failuresTotal } from '../load/load.js';
import { readMemory } from '../machine/processes.js';
import { type Peer, STREAM_CHUNKS } from '../peers/peer.js';
import { subtract } from '../statistics.js';
import { createJob } from './measure.js';

/** Numbers of concurrently open streams, and the time in which they are opened. */
export const OPEN_COUNTS = [
  { streams: 1_000, rampMs: 2_000 },
  { streams: 5_000, rampMs: 8_000 },
] as const;
/** A short run that only checks whether the measurement works. */
export const OPEN_COUNTS_QUICK = [{ streams: 200, rampMs: 500 }] as const;
/** Delay after the last stream was opened. The first stream has not ended by then. */
const READ_AFTER_MS = 6_000;
const MS_PER_CHUNK = 1_000;

/** Memory of streams that stay open. */
export interface OpenStreams {
  readonly peer: string;
  readonly streams: number;
  /** Why the memory figure is unreliable, or null. */
  readonly spoiled: string | null;
  /** Streams without a complete end. */
  readonly dropped: number;
  /**
   * Memory growth per stream since the peer had just started, by process. Includes everything else
   * that the process has kept since then.
   */
  readonly bytesPerStream: Readonly<Record<string, number>>;
}

/**
 * Opens the given number of streams at a peer, reads its memory while all are open, and waits for
 * their end. A reading is unreliable if a stream was not open at that time: the machine was too
 * busy and the figure is too small.
 * @param fresh memory of the peer just after its start, because later garbage would hide the memory
 * of streams
 */
export async function measureOpenStreams(
  load: Load,
  peer: Peer,
  { streams, rampMs }: { readonly streams: number; readonly rampMs: number },
  fresh: Readonly<Record<string, number>>,
  { signal }: BenchContext,
): Promise<OpenStreams> {
  const running = load.run({ ...createJob(peer, { kind: 'open', connections: streams }, { calls: streams }), rampMs });
  // An early failure of the job is reported by `await running` below.
  running.catch(() => undefined);
  await delay(rampMs + READ_AFTER_MS, undefined, { signal });
  const growth = Object.entries(subtract(readMemory(peer.processes), fresh));
  const result = await running;
  const dropped = failuresTotal(result);
  await peer.settle(result.calls, dropped);
  // The provider still sends the dropped streams, which use connections that later calls may need.
  if (dropped > 0) await delay(STREAM_CHUNKS.open * MS_PER_CHUNK, undefined, { signal });
  const spoiled =
    dropped > 0
      ? `${dropped} of ${streams} open streams failed: ${JSON.stringify(result.failures)}`
      : result.firstByteMs.p99 > READ_AFTER_MS
        ? `not all of ${streams} streams were open when the memory was read`
        : null;
  const bytesPerStream = Object.fromEntries(growth.map(([name, bytes]) => [name, bytes / streams]));
  return { peer: peer.id, streams, spoiled, dropped, bytesPerStream };
}
