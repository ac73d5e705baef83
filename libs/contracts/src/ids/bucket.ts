import { crc32 } from 'node:zlib';

/** Accounts are spread over this many Redis hash tags; each has its own epoch. */
export const BUCKETS_TOTAL = 256;
/** Slices of accounts in the ledger. */
export const SHARDS_TOTAL = 4;
/**
 * Groups of shards: 1, 2 or 4. The journal has a subject for each. More groups make messages and
 * transactions smaller, so there is one until a single process of billing is too slow. To raise it,
 * deploy billing before edges and admission.
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
