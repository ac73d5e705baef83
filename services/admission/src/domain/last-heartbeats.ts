import type { HeartbeatCall, BucketEpochs, ReleaseEntry } from '@gateway/contracts/messages';

/** Where one message of an edge's heartbeats stands in the stream. */
export interface HeartbeatMark {
  readonly edge: string;
  readonly sequence: number;
  readonly storedAtMs: number;
}

/** One stored message of the stream of heartbeats, as far as a recovery reads it. */
export interface KeptHeartbeat {
  readonly heartbeat: {
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
  readonly sequence: number;
}

/** What is known of one edge from the heartbeats that the stream keeps. */
export interface LastHeartbeat {
  readonly edge: string;
  /** When its newest part was stored, epoch ms. */
  readonly storedAtMs: number;
  /** Of its newest part. */
  readonly sequence: number;
  /** All parts of its newest heartbeat are here. */
  readonly complete: boolean;
  /** It has stopped for good. */
  readonly stopped: boolean;
  /** The epoch that the newest heartbeat quotes, per bucket. */
  readonly tokens: ReadonlyMap<number, string>;
  readonly calls: readonly HeartbeatCall[];
  readonly releases: readonly ReleaseEntry[];
}

/**
 * The last heartbeat of each edge. A heartbeat has grown or shrunk in parts since the one before:
 * older messages count for parts that have not arrived, parts beyond the newest heartbeat's number
 * do not. A part that was replaced while the stream was read is there twice; the older one says
 * nothing.
 */
export function lastHeartbeats(kept: readonly KeptHeartbeat[]): LastHeartbeat[] {
  const byEdge = new Map<string, Map<number, KeptHeartbeat>>();
  for (const one of kept) {
    const { edge, chunk, n } = one.heartbeat;
    const parts = byEdge.get(edge) ?? new Map<number, KeptHeartbeat>();
    byEdge.set(edge, parts);
    const known = parts.get(chunk);
    if (known === undefined || known.heartbeat.n < n) parts.set(chunk, one);
  }
  return Array.from(byEdge, ([edge, parts]) => lastHeartbeatOf(edge, [...parts.values()]));
}

/** The newest message of each edge. */
export function newestMarks(marks: readonly HeartbeatMark[]): Map<string, HeartbeatMark> {
  const newest = new Map<string, HeartbeatMark>();
  for (const mark of marks) {
    if (mark.sequence > (newest.get(mark.edge)?.sequence ?? -1)) newest.set(mark.edge, mark);
  }
  return newest;
}

/** Ids of the calls that a heartbeat names which was stored after that time. */
export function callsNamedAfter(kept: readonly KeptHeartbeat[], afterMs: number): Set<string> {
  const young = lastHeartbeats(kept).filter(({ storedAtMs }) => storedAtMs > afterMs);
  return new Set(young.flatMap(({ calls }) => calls.map(({ id }) => id)));
}

/** An edge is gone when its last heartbeat is older than the expiry by so much. */
const GONE_AFTER_MS = 60_000;

/**
 * Whether an edge has been silent for so long that its calls have expired (docs/protocol.md#r12).
 * @param nowMs by the clock of the stream
 */
export function isGone({ storedAtMs }: Pick<HeartbeatMark, 'storedAtMs'>, nowMs: number, expiryMs: number): boolean {
  return nowMs - storedAtMs > expiryMs + GONE_AFTER_MS;
}

/** Whether this edge, if it lives, has reported all that it runs under the token. */
export function hasReported(heartbeat: LastHeartbeat, bucket: number, token: string): boolean {
  return heartbeat.stopped || (heartbeat.complete && heartbeat.tokens.get(bucket) === token);
}

function lastHeartbeatOf(edge: string, parts: readonly KeptHeartbeat[]): LastHeartbeat {
  const n = Math.max(...parts.map(({ heartbeat }) => heartbeat.n));
  const newest = parts.filter(({ heartbeat }) => heartbeat.n === n);
  const chunks = newest[0]?.heartbeat.chunks ?? 0;
  const counted = parts.filter(({ heartbeat }) => heartbeat.chunk < chunks);
  return {
    edge,
    storedAtMs: Math.max(...parts.map(({ storedAtMs }) => storedAtMs)),
    sequence: Math.max(...parts.map(({ sequence }) => sequence)),
    complete: newest.length === chunks,
    stopped: newest.some(({ heartbeat }) => heartbeat.last),
    tokens: new Map(
      newest.flatMap(({ heartbeat }) => heartbeat.tokens.map(({ bucket, token }) => [bucket, token] as const)),
    ),
    calls: counted.flatMap(({ heartbeat }) => heartbeat.calls),
    releases: counted.flatMap(({ heartbeat }) => heartbeat.releases),
  };
}
