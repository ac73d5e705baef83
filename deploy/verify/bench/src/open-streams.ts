import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from './bench-context.js';
import { failuresTotal } from './load/load-job.js';
import { readMemory } from './machine/read-memory.js';
import { jobOf } from './measure.js';
import type { Bench } from './measure.js';
import { OPEN_STREAM_CHUNKS } from './peers/peer.js';
import type { Peer, PeerId } from './peers/peer.js';

/** Streams open at a time, and over how many milliseconds they are begun. */
export const OPEN_COUNTS = [
  { streams: 1_000, rampMs: 2_000 },
  { streams: 5_000, rampMs: 8_000 },
] as const;
/** For a look at whether it works. */
export const OPEN_COUNTS_QUICK = [{ streams: 200, rampMs: 500 }] as const;
/** After the last was begun; the first has not ended then. */
const READ_AFTER_MS = 6_000;
const MS_PER_CHUNK = 1_000;

/** What streams that stay open take. */
export interface OpenStreams {
  readonly peer: PeerId;
  readonly streams: number;
  /** Why the memory is no figure to rely on; null: nothing was seen. */
  readonly spoiled: string | null;
  /** Streams that did not end complete. */
  readonly dropped: number;
  /**
   * Bytes for each stream more than when the peer had just started, by process: what else it keeps
   * since then counts too.
   */
  readonly bytesPerStream: Readonly<Record<string, number>>;
}

/**
 * Opens so many streams at a peer, reads its memory while all are open, and sees them end. A
 * reading is spoiled when one was not open then: the machine was too busy, and the figure is too
 * small.
 * @param fresh the peer's memory when it had just started: later garbage would hide what streams
 * take
 */
export async function measureOpenStreams(
  bench: Bench,
  peer: Peer,
  { streams, rampMs }: { readonly streams: number; readonly rampMs: number },
  fresh: Readonly<Record<string, number>>,
  { signal }: BenchContext,
): Promise<OpenStreams> {
  const job = { ...jobOf(peer, { kind: 'open', connections: streams }, { calls: streams }), rampMs };
  const running = bench.load.run(job);
  // A job that fails early is told by `await running` below.
  running.catch(() => undefined);
  await delay(rampMs + READ_AFTER_MS, undefined, { signal });
  const during = readMemory(peer.processes);
  const result = await running;
  const dropped = failuresTotal(result);
  await peer.settle(result.calls, dropped);
  // The provider still sends what nobody reads: it holds places that later calls may need.
  if (dropped > 0) await delay(OPEN_STREAM_CHUNKS * MS_PER_CHUNK, undefined, { signal });
  const spoiled =
    dropped > 0
      ? `${dropped} of ${streams} open streams failed: ${JSON.stringify(result.failures)}`
      : result.firstByteMs.p99 > READ_AFTER_MS
        ? `not all of ${streams} streams were open when its memory was read`
        : null;
  const bytesPerStream = Object.fromEntries(
    Object.entries(during).map(([name, bytes]) => [name, (bytes - (fresh[name] ?? 0)) / streams]),
  );
  return { peer: peer.id, streams, spoiled, dropped, bytesPerStream };
}
