import { type ScriptCall, type ScriptReply, inOrder } from '../limit-store/script-rules.js';
import { bucketKeys, ownKeys } from '../limit-store/key-rules.js';

export interface DueLook {
  /** Buckets to sweep: something is due there, or they are not open. */
  readonly buckets: readonly number[];
  /** Holds of all buckets: running, done and expiring calls, and tombstones of ended ones. */
  readonly holds: number;
  /** Redis time until when the silence of an edge counts; 0: it does not. */
  readonly silentUntil: number;
}

/** Whether this replica hears heartbeats, and when silence counts (docs/protocol.md#r9). */
export interface Listening {
  readonly listens: boolean;
  /** A time without anybody who listens that is longer is a gap. */
  readonly silenceMs: number;
  /** So long after a gap edges have time to be heard. */
  readonly leaseMs: number;
}

/** How replicas share the looks. */
export interface LookSharing {
  /**
   * So long the look of another replica is enough for this one; 0: it looks whatever others did.
   */
  readonly othersMs: number;
  /** So long this one is enough for the others. */
  readonly ownMs: number;
}

/**
 * Looks which buckets have to be swept (docs/protocol.md#r9).
 * @param buckets at least one; in a Redis cluster those of one slot
 */
export function dueCall(
  buckets: readonly number[],
  replica: string,
  sharing: LookSharing,
  { listens, silenceMs, leaseMs }: Listening,
): ScriptCall {
  const keys = buckets.map(bucketKeys);
  return {
    script: 'due',
    keys: [...keys.flatMap(ownKeys), ...keys.slice(0, 1).map(({ look }) => look)],
    args: inOrder('DUE', { replica, ...sharing, listens: listens ? '1' : '0', silenceMs, leaseMs }),
  };
}

export function readDueReply(reply: ScriptReply): DueLook {
  return { buckets: reply.slice(5).map(Number), holds: Number(reply[3] ?? 0), silentUntil: Number(reply[4] ?? 0) };
}
