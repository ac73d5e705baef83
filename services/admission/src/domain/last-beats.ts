import type { HeartbeatCall, BucketEpochs, ReleaseEntry } from '@gateway/contracts/messages';

/** One stored message of the stream of beats, as far as a recovery reads it. */
export interface KeptBeat {
  readonly beat: {
    readonly edge: string;
    readonly n: number;
    readonly chunk: number;
    readonly chunks: number;
    readonly tokens: BucketEpochs;
    readonly calls: readonly HeartbeatCall[];
    readonly releases: readonly ReleaseEntry[];
    readonly last: boolean;
  };
  readonly storedAtMs: number;
}

/** What is known of one edge from the beats that the stream keeps. */
export interface LastBeat {
  readonly edge: string;
  /** When its newest part was stored, epoch ms. */
  readonly storedAtMs: number;
  /** All parts of its newest beat are here. */
  readonly complete: boolean;
  /** It has stopped for good. */
  readonly stopped: boolean;
  /** The gate token that the newest beat quotes, per bucket. */
  readonly tokens: ReadonlyMap<number, string>;
  readonly calls: readonly HeartbeatCall[];
  readonly releases: readonly ReleaseEntry[];
}

/**
 * The last beat of each edge. A beat has grown or shrunk in parts since the one before: older messages count for parts that
 * have not arrived, parts beyond the newest beat's number do not. A part that was replaced while the stream was read is there
 * twice; the older one says nothing.
 */
export function lastBeats(kept: readonly KeptBeat[]): LastBeat[] {
  const byEdge = new Map<string, Map<number, KeptBeat>>();
  for (const one of kept) {
    const { edge, chunk, n } = one.beat;
    const parts = byEdge.get(edge) ?? new Map<number, KeptBeat>();
    byEdge.set(edge, parts);
    const known = parts.get(chunk);
    if (known === undefined || known.beat.n < n) parts.set(chunk, one);
  }
  return Array.from(byEdge, ([edge, parts]) => lastBeatOf(edge, [...parts.values()]));
}

/** Whether this edge, if it lives, has reported all that it runs under the token. */
export function hasReported(beat: LastBeat, bucket: number, token: string): boolean {
  return beat.stopped || (beat.complete && beat.tokens.get(bucket) === token);
}

function lastBeatOf(edge: string, parts: readonly KeptBeat[]): LastBeat {
  const n = Math.max(...parts.map(({ beat }) => beat.n));
  const newest = parts.filter(({ beat }) => beat.n === n);
  const chunks = newest[0]?.beat.chunks ?? 0;
  const counted = parts.filter(({ beat }) => beat.chunk < chunks);
  return {
    edge,
    storedAtMs: Math.max(...parts.map(({ storedAtMs }) => storedAtMs)),
    complete: newest.length === chunks,
    stopped: newest.some(({ beat }) => beat.last),
    tokens: new Map(newest.flatMap(({ beat }) => beat.tokens.map(({ bucket, token }) => [bucket, token] as const))),
    calls: counted.flatMap(({ beat }) => beat.calls),
    releases: counted.flatMap(({ beat }) => beat.releases),
  };
}
