import type { BucketEpochs, HeartbeatCall, HeartbeatNames, ReleaseEntry } from '@gateway/contracts/messages';
import { groupBy } from '@gateway/service-kit/group-by';

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
    /** Only in a short heartbeat: calls that the last full one has. */
    readonly names?: readonly HeartbeatNames[];
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
  /** All parts of its newest heartbeat are here, and all that holds the calls that it names. */
  readonly complete: boolean;
  /** It has stopped for good. */
  readonly stopped: boolean;
  /** The epoch that the newest heartbeat quotes, per bucket. */
  readonly tokens: ReadonlyMap<number, string>;
  readonly calls: readonly RunningCall[];
  readonly releases: readonly ReleaseEntry[];
}

/**
 * The last heartbeat of each edge: a full one, or a short one with what full ones say of the calls
 * that it names. While parts of it have not arrived, what older ones tell counts too.
 */
export function lastHeartbeats(kept: readonly KeptHeartbeat[]): LastHeartbeat[] {
  return Array.from(
    groupBy(kept, ({ heartbeat }) => heartbeat.edge),
    ([edge, own]) => lastHeartbeatOf(edge, own),
  );
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

type StoredAt = Pick<HeartbeatMark, 'storedAtMs'>;

/** An edge that has been silent for longer than others is not waited for. */
const LIVE_MS = 10_000;
/** An edge is gone when it has been silent for longer than the expiry and so much. */
const GONE_AFTER_MS = 60_000;

/**
 * The time by which edges are silent, epoch ms: of the newest heartbeat of any edge, or the own
 * clock's if that is earlier. A clock that is ahead, of this process or of a server of the bus,
 * must not make edges silent that are not.
 */
export function silenceClock(heartbeats: Iterable<StoredAt>, wallMs: number): number {
  let last = -Infinity;
  for (const { storedAtMs } of heartbeats) last = Math.max(last, storedAtMs);
  return Math.min(last, wallMs);
}

/**
 * Whether an edge may run calls under an epoch that it has not quoted (docs/protocol.md#r12).
 * @param nowMs by {@link silenceClock}
 */
export function isLive({ storedAtMs }: StoredAt, nowMs: number): boolean {
  return nowMs - storedAtMs < LIVE_MS;
}

/**
 * Whether an edge is silent for so long that its calls have expired (docs/protocol.md#r12).
 * @param nowMs by {@link silenceClock}
 */
export function isGone({ storedAtMs }: StoredAt, nowMs: number, expiryMs: number): boolean {
  return nowMs - storedAtMs > expiryMs + GONE_AFTER_MS;
}

/** Whether this edge, if it lives, has reported all that it runs under the token. */
export function hasReported(heartbeat: LastHeartbeat, bucket: number, token: string): boolean {
  return heartbeat.stopped || (heartbeat.complete && heartbeat.tokens.get(bucket) === token);
}

function lastHeartbeatOf(edge: string, kept: readonly KeptHeartbeat[]): LastHeartbeat {
  const full = newestParts(kept.filter(({ heartbeat }) => heartbeat.names === undefined));
  const short = newestParts(kept.filter(({ heartbeat }) => heartbeat.names !== undefined));
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
    tokens: new Map(quoting.flatMap(({ tokens }) => tokens.map(({ bucket, token }) => [bucket, token] as const))),
    calls,
    releases: counted.flatMap(({ releases }) => releases),
  };
}

interface NewestParts {
  /** 0: there is none. */
  readonly n: number;
  readonly parts: readonly KeptHeartbeat['heartbeat'][];
  readonly isComplete: boolean;
  /** Its parts; while some have not arrived also those of the heartbeat before. */
  readonly counted: readonly KeptHeartbeat['heartbeat'][];
}

function newestParts(kept: readonly KeptHeartbeat[]): NewestParts {
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

/** The calls of these parts, each once, as the newest part tells it, with what any part lists. */
function joinCalls(
  parts: readonly KeptHeartbeat['heartbeat'][],
  kept: readonly KeptHeartbeat[],
): readonly RunningCall[] {
  const listed = new Map(kept.flatMap(({ heartbeat }) => heartbeat.calls.map((call) => [call.id, call] as const)));
  const joined = new Map<string, RunningCall>();
  for (const part of [...parts].sort((a, b) => a.n - b.n)) {
    for (const call of runningCalls(part)) {
      const full = call.full ?? listed.get(call.id);
      joined.set(call.id, { ...call, full: full === undefined ? null : { ...full, tag: call.tag } });
    }
  }
  return [...joined.values()];
}

/** A running call as a heartbeat lists or names it. */
export interface RunningCall {
  readonly id: string;
  readonly account: string;
  readonly tag: string;
  /** All that holds it again; null: a short heartbeat has only named it. */
  readonly full: HeartbeatCall | null;
}

/** The running calls that one message of a heartbeat, full or short, tells of. */
export function runningCalls({
  calls,
  names = [],
}: {
  readonly calls: readonly HeartbeatCall[];
  readonly names?: readonly HeartbeatNames[];
}): RunningCall[] {
  const listed = calls.map((full): RunningCall => ({ id: full.id, account: full.hold.account, tag: full.tag, full }));
  const named = names.flatMap(({ tag, accounts }) =>
    accounts.flatMap(({ account, ids }) => ids.map((id): RunningCall => ({ id, account, tag, full: null }))),
  );
  return [...listed, ...named];
}
