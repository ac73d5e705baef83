import { type ScriptCall, type ScriptReply, toArguments } from '../limit-store/script-rules.js';
import { findBucketKeys, listBucketKeys } from '../limit-store/key-rules.js';

export interface DuePoll {
  /** Buckets to sweep: those with due entries and those that are not open. */
  readonly buckets: readonly number[];
  /** Holds of all buckets: running, done and expiring calls, and tombstones of ended calls. */
  readonly holds: number;
  /** Redis time until which the silence of an edge counts; 0: it does not count. */
  readonly silentUntil: number;
}

/** Whether this replica receives heartbeats, and when silence counts (docs/protocol.md#r9). */
export interface Listening {
  readonly listens: boolean;
  /** A longer time without heartbeats at any replica is a gap. */
  readonly silenceMs: number;
  /** Time after a gap that edges have to send heartbeats. */
  readonly leaseMs: number;
}

/** How replicas share polls. */
export interface PollSharing {
  /** Maximum age of another replica's poll that replaces an own one; 0: always poll. */
  readonly othersMs: number;
  /** Validity of this poll for the other replicas. */
  readonly ownMs: number;
}

/**
 * Builds the poll for buckets that must be swept (docs/protocol.md#r9).
 * @param buckets at least one; in a Redis cluster all of the same slot
 */
export function buildDueCall(
  buckets: readonly number[],
  replica: string,
  sharing: PollSharing,
  { listens, silenceMs, leaseMs }: Listening,
): ScriptCall {
  const keys = buckets.map(findBucketKeys);
  return {
    script: 'due',
    keys: [...keys.flatMap(listBucketKeys), ...keys.slice(0, 1).map(({ poll }) => poll)],
    args: toArguments('DUE', { replica, ...sharing, listens: listens ? '1' : '0', silenceMs, leaseMs }),
  };
}

export function readDueReply(reply: ScriptReply): DuePoll {
  return { buckets: reply.slice(5).map(Number), holds: Number(reply[3] ?? 0), silentUntil: Number(reply[4] ?? 0) };
}
