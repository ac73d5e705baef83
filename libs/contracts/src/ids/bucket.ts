import { crc32 } from 'node:zlib';

/** Accounts are spread over this many Redis hash tags; each has its own epoch. */
export const BUCKETS_TOTAL = 256;
/** Usage events are spread over this many subjects; an account's events all have one. */
export const SHARDS_TOTAL = 4;

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
