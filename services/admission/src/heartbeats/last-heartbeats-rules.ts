import type { BucketEpochs, HeartbeatCall, HeartbeatNames, ReleaseEntry } from '@gateway/contracts/messages';
import { groupBy } from '@gateway/service-kit/group-by';

/** Position of one heartbeat message in the stream. */
export interface HeartbeatPosition {
  readonly edge: string;
  readonly sequence: number;
  readonly storedAtMs: number;
}

/** The part of a stored heartbeat message that a recovery reads. */
export interface StoredHeartbeat {
  readonly heartbeat: {
    readonly edge: string;
    readonly n: number;
    readonly chunk: number;
    readonly chunks: number;
    readonly epochs: BucketEpochs;
    readonly calls: readonly HeartbeatCall[];
    readonly releases: readonly ReleaseEntry[];
    readonly last: boolean;
    /** Only in a short heartbeat: calls that the last full one lists. */
    readonly names?: readonly HeartbeatNames[];
  };
  readonly storedAtMs: number;
  readonly sequence: number;
}

/** State of one edge according to its heartbeats in the stream. */
export interface LastHeartbeat {
  readonly edge: string;
  /** Storage time of its newest part, epoch ms. */
  readonly storedAtMs: number;
  /** Stream position of its newest part. */
  readonly sequence: number;
  /** Whether the stream has all parts of its newest heartbeat and all data of the named calls. */
  readonly complete: boolean;
  /** Whether the edge has stopped for good. */
  readonly stopped: boolean;
  /** The epoch that the newest heartbeat quotes, per bucket. */
  readonly epochs: ReadonlyMap<number, string>;
  readonly calls: readonly RunningCall[];
  readonly releases: readonly ReleaseEntry[];
}

/**
 * Returns the last heartbeat of each edge: a full one, or a short one with the full data of its
 * calls. While some parts are missing, the parts of older heartbeats count too.
 */
export function findLastHeartbeats(kept: readonly StoredHeartbeat[]): LastHeartbeat[] {
  return Array.from(
    groupBy(kept, ({ heartbeat }) => heartbeat.edge),
    ([edge, own]) => findLastHeartbeat(edge, own),
  );
}

/** Returns the newest message of each edge. */
export function findNewestPositions(marks: readonly HeartbeatPosition[]): Map<string, HeartbeatPosition> {
  const newest = new Map<string, HeartbeatPosition>();
  for (const mark of marks) {
    if (mark.sequence > (newest.get(mark.edge)?.sequence ?? -1)) newest.set(mark.edge, mark);
  }
  return newest;
}

/** Returns the IDs of the calls in heartbeats that were stored after a time. */
export function findCallsNamedAfter(kept: readonly StoredHeartbeat[], afterMs: number): Set<string> {
  const young = findLastHeartbeats(kept).filter(({ storedAtMs }) => storedAtMs > afterMs);
  return new Set(young.flatMap(({ calls }) => calls.map(({ id }) => id)));
}

type StoredAt = Pick<HeartbeatPosition, 'storedAtMs'>;

/** The recovery does not wait for an edge that has been silent for longer. */
const LIVE_MS = 10_000;
/** An edge is gone when it has been silent for longer than the expiry plus this time. */
const GONE_AFTER_MS = 60_000;

/**
 * Reference time for the silence of edges, epoch ms: the storage time of the newest heartbeat of
 * any edge, or this process's clock if that is earlier. A clock that is ahead, in this process or
 * on a bus server, must not make a live edge seem silent.
 */
export function computeSilenceTime(heartbeats: Iterable<StoredAt>, wallMs: number): number {
  let last = -Infinity;
  for (const { storedAtMs } of heartbeats) last = Math.max(last, storedAtMs);
  return Math.min(last, wallMs);
}

/**
 * Whether an edge may run calls under an epoch that it has not quoted (docs/protocol.md#r12).
 * @param nowMs from {@link computeSilenceTime}
 */
export function isLive({ storedAtMs }: StoredAt, nowMs: number): boolean {
  return nowMs - storedAtMs < LIVE_MS;
}

/**
 * Whether an edge has been silent long enough for its calls to have expired (docs/protocol.md#r12).
 * @param nowMs from {@link computeSilenceTime}
 */
export function isGone({ storedAtMs }: StoredAt, nowMs: number, expiryMs: number): boolean {
  return nowMs - storedAtMs > expiryMs + GONE_AFTER_MS;
}

/** Whether this edge, if it is alive, has reported all calls that it runs under the epoch. */
export function hasReported(heartbeat: LastHeartbeat, bucket: number, epoch: string): boolean {
  return heartbeat.stopped || (heartbeat.complete && heartbeat.epochs.get(bucket) === epoch);
}

function findLastHeartbeat(edge: string, kept: readonly StoredHeartbeat[]): LastHeartbeat {
  const full = findNewestParts(kept.filter(({ heartbeat }) => heartbeat.names === undefined));
  const short = findNewestParts(kept.filter(({ heartbeat }) => heartbeat.names !== undefined));
  const [older, newest] = short.n > full.n ? [full, short] : [short, full];
  const counted = newest.isComplete ? newest.counted : [...older.counted, ...newest.counted];
  const calls = joinCalls(counted, kept);
  const quoting = newest === short ? [...full.parts, ...short.parts] : full.parts;
  return {
    edge,
    storedAtMs: Math.max(...kept.map(({ storedAtMs }) => storedAtMs)),
    sequence: Math.max(...kept.map(({ sequence }) => sequence)),
    complete: newest.isComplete && calls.every((call) => call.full !== null),
    stopped: newest.parts.some(({ last }) => last),
    epochs: new Map(quoting.flatMap(({ epochs }) => epochs.map(({ bucket, epoch }) => [bucket, epoch] as const))),
    calls,
    releases: counted.flatMap(({ releases }) => releases),
  };
}

interface NewestParts {
  /** Number of the heartbeat; 0: there is no heartbeat. */
  readonly n: number;
  readonly parts: readonly StoredHeartbeat['heartbeat'][];
  readonly isComplete: boolean;
  /** Its parts and, while some of them are missing, also those of the previous heartbeat. */
  readonly counted: readonly StoredHeartbeat['heartbeat'][];
}

function findNewestParts(kept: readonly StoredHeartbeat[]): NewestParts {
  const all = kept.map(({ heartbeat }) => heartbeat);
  const n = Math.max(0, ...all.map((part) => part.n));
  const before = Math.max(0, ...all.map((part) => (part.n < n ? part.n : 0)));
  const parts = all.filter((part) => part.n === n);
  const isComplete = new Set(parts.map(({ chunk }) => chunk)).size === (parts[0]?.chunks ?? 0);
  return {
    n,
    parts,
    isComplete,
    counted: isComplete ? parts : all.filter((part) => part.n === n || part.n === before),
  };
}

/** Returns the calls of these parts, each once, by the newest part and with full data from any. */
function joinCalls(
  parts: readonly StoredHeartbeat['heartbeat'][],
  kept: readonly StoredHeartbeat[],
): readonly RunningCall[] {
  const listed = new Map(kept.flatMap(({ heartbeat }) => heartbeat.calls.map((call) => [call.id, call] as const)));
  const joined = new Map<string, RunningCall>();
  for (const part of [...parts].sort((a, b) => a.n - b.n)) {
    for (const call of listRunningCalls(part)) {
      const full = call.full ?? listed.get(call.id);
      joined.set(call.id, { ...call, full: full === undefined ? null : { ...full, callEpoch: call.callEpoch } });
    }
  }
  return [...joined.values()];
}

/** A running call that a heartbeat lists or names. */
export interface RunningCall {
  readonly id: string;
  readonly account: string;
  readonly callEpoch: string;
  /** Everything needed to create the hold again. Null if only short heartbeats name the call. */
  readonly full: HeartbeatCall | null;
}

/** Returns the running calls of one heartbeat message, full or short. */
export function listRunningCalls({
  calls,
  names = [],
}: {
  readonly calls: readonly HeartbeatCall[];
  readonly names?: readonly HeartbeatNames[];
}): RunningCall[] {
  const listed = calls.map((full) => ({ id: full.id, account: full.hold.account, callEpoch: full.callEpoch, full }));
  const named = names.flatMap(({ callEpoch, accounts }) =>
    accounts.flatMap(({ account, ids }) => ids.map((id): RunningCall => ({ id, account, callEpoch, full: null }))),
  );
  return [...listed, ...named];
}
