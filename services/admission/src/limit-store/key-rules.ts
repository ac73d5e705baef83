/** Names of the Redis keys of one bucket. The hash tag puts all of them into one Redis slot. */
export interface BucketKeys {
  readonly bucket: number;
  readonly epoch: string;
  readonly due: string;
  /** Done holds without a record at billing, ordered by the time of the next query. */
  readonly unsettled: string;
  /** The last poll for due holds, for this bucket and those that were polled together with it. */
  readonly poll: string;
  /** Prefixes; the ID of the account or key follows. */
  readonly accounts: string;
  readonly holds: string;
  readonly keyRecords: string;
  readonly texts: string;
  /** Prefixes; `<account>:<minute>` follows. */
  readonly minutes: string;
  readonly playgroundMinutes: string;
}

const BUCKETS = Array.from({ length: 256 }, (_unused, bucket) => makeKeys(bucket));

/** @throws RangeError for a bucket outside 0 to 255 */
export function findBucketKeys(bucket: number): BucketKeys {
  const keys = BUCKETS[bucket];
  if (keys === undefined) throw new RangeError(`not a bucket: ${bucket}`);
  return keys;
}

/** The first keys of a script for one bucket, in the order of `POSITIONS.KEY`. */
export function listBucketKeys({ epoch, due, unsettled }: BucketKeys): string[] {
  return [epoch, due, unsettled];
}

/** The first keys of a script for one account, in the order of `POSITIONS.KEY`. */
export function listAccountKeys(keys: BucketKeys, account: string): string[] {
  return [...listBucketKeys(keys), keys.accounts + account, keys.holds + account];
}

/** Redis pattern that matches the keys of all accounts. */
export const ACCOUNT_KEYS = '{*}a:*';

/** Extracts the account from a key that {@link ACCOUNT_KEYS} matches. */
export function parseAccount(key: string): string {
  return key.slice(key.indexOf(':') + 1);
}

/** The account's field with the epoch of a key's load, and the key's version. */
export function formatKeyField(key: string): string {
  return `k:${key}`;
}

/** Names the replica that restores lost buckets. */
export const RESTORER_KEY = '{0}restorer';

/**
 * A key reference is stored outside the buckets, because the account is unknown until it is read.
 */
export function formatReferenceKey(digest: string): string {
  return `d:${Buffer.from(digest, 'hex').toString('base64url')}`;
}

/** Stored in place of a key reference while the owner of keys is known to have no such digest. */
export const NO_KEY_REFERENCE = '-';

function makeKeys(bucket: number): BucketKeys {
  const tag = `{${bucket}}`;
  return {
    bucket,
    epoch: `${tag}epoch`,
    due: `${tag}due`,
    unsettled: `${tag}unsettled`,
    poll: `${tag}poll`,
    accounts: `${tag}a:`,
    holds: `${tag}h:`,
    keyRecords: `${tag}k:`,
    texts: `${tag}s:`,
    minutes: `${tag}m:`,
    playgroundMinutes: `${tag}p:`,
  };
}
