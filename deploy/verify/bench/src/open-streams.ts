import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from './bench-context.js';
import { failuresTotal } from './load/load-job.js';
import { readMemory } from './machine/read-memory.js';
import { jobOf } from './measure.js';
import type { Bench } from './measure.js';
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

/** What streams that stay open take. */
export interface OpenStreams {
  readonly peer: PeerId;
  readonly streams: number;
  /** Streams that did not end complete. */
  readonly dropped: number;
  /** Bytes for each stream more than when the peer had just started, by process: what else it keeps since then counts too. */
  readonly bytesPerStream: Readonly<Record<string, number>>;
}

/**
 * Opens so many streams at a peer, reads its memory while all are open, and sees them end.
 * @param fresh the peer's memory when it had just started: later garbage would hide what streams take
 * @returns null when one was not open then: the machine was too busy, and the figure would be too small
 * @throws Error when one of the gateway's did not end complete
 */
export async function measureOpenStreams(
  bench: Bench,
  peer: Peer,
  { streams, rampMs }: { readonly streams: number; readonly rampMs: number },
  fresh: Readonly<Record<string, number>>,
  { signal }: BenchContext,
): Promise<OpenStreams | null> {
  const job = { ...jobOf(peer, { kind: 'open', connections: streams }, { calls: streams }), rampMs };
  const running = bench.load.run(job);
  // A job that fails early is told by `await running` below.
  running.catch(() => undefined);
  await delay(rampMs + READ_AFTER_MS, undefined, { signal });
  const during = readMemory(peer.processes);
  const result = await running;
  await peer.settle(result.calls);
  const dropped = failuresTotal(result);
  if (dropped > 0 && peer.id === 'gateway') {
    throw new Error(`${peer.title}: ${dropped} of ${streams} open streams failed: ${JSON.stringify(result.failures)}`);
  }
  if (result.firstByteMs.p99 > READ_AFTER_MS) return null;
  const bytesPerStream = Object.fromEntries(
    Object.entries(during).map(([name, bytes]) => [name, (bytes - (fresh[name] ?? 0)) / streams]),
  );
  return { peer: peer.id, streams, dropped, bytesPerStream };
}
