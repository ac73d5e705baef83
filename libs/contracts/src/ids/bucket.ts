import { crc32 } from 'node:zlib';

/** Accounts are spread over this many Redis hash tags; each has its own epoch. */
export const BUCKETS_TOTAL = 256;
/** Slices of accounts in the ledger; the journal has as many subjects for events by name. */
export const SHARDS_TOTAL = 4;
/**
 * Subjects of the journal for packed events: so many groups of shards, 1, 2 or 4. More groups cut
 * messages and transactions smaller, so there is one until a single process of billing is too slow.
 * While it grows, billing has to know it before edges.
 */
export const USAGE_GROUPS_TOTAL = 1;

/** CRC32 of the account id's bytes, modulo {@link BUCKETS_TOTAL}. */
export function bucketOfAccount(account: string): number {
  return crc32(account) % BUCKETS_TOTAL;
}

/** 64 neighbouring buckets make a shard. */
export function shardOfBucket(bucket: number): number {
  return Math.floor(bucket / (BUCKETS_TOTAL / SHARDS_TOTAL));
}

export function shardOfAccount(account: string): number {
  return shardOfBucket(bucketOfAccount(account));
}

/**
 * The subject on which events of this shard are stored. No reader depends on it: any subject may
 * hold any account.
 */
export function usageGroupOfShard(shard: number, groups = USAGE_GROUPS_TOTAL): number {
  return Math.floor(shard / (SHARDS_TOTAL / groups));
}
