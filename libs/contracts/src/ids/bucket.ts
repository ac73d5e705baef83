import { crc32 } from 'node:zlib';

/** Number of Redis hash tags that accounts are spread over. Each bucket has its own epoch. */
export const BUCKETS_TOTAL = 256;
/** Slices of accounts in the ledger. */
export const SHARDS_TOTAL = 4;
/**
 * Groups of shards: 1, 2 or 4. The journal has one subject per group. More groups make messages and
 * transactions smaller, so keep one until a single billing process is too slow. Before you raise
 * it, deploy billing, then edges and admission.
 */
export const USAGE_GROUPS_TOTAL = 1;

/** Returns the CRC32 of the account ID's bytes modulo {@link BUCKETS_TOTAL}. */
export function bucketOfAccount(account: string): number {
  return crc32(account) % BUCKETS_TOTAL;
}

/** Returns the shard of a bucket: a shard has 64 consecutive buckets. */
export function shardOfBucket(bucket: number): number {
  return Math.floor(bucket / (BUCKETS_TOTAL / SHARDS_TOTAL));
}

export function shardOfAccount(account: string): number {
  return shardOfBucket(bucketOfAccount(account));
}

/** Returns the group that stores a shard's events. Readers accept any account on any subject. */
export function usageGroupOfShard(shard: number, groups = USAGE_GROUPS_TOTAL): number {
  return Math.floor(shard / (SHARDS_TOTAL / groups));
}

interface Run {
  readonly id: string;
  /** When the newest epoch of the run was set, in epoch milliseconds. */
  readonly setAt: number;
}

/**
 * Whether one run of Redis is later than another one (docs/protocol.md#r12). Edges and admission
 * use the same rule. If both have the same time, the greater ID is later.
 */
export function isLaterRun(one: Run, other: Run): boolean {
  return one.setAt > other.setAt || (one.setAt === other.setAt && one.id > other.id);
}
