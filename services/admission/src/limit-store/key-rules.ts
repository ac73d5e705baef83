/** Names of the Redis keys of one bucket. The hash tag puts all of them into one slot. */
export interface BucketKeys {
  readonly bucket: number;
  readonly token: string;
  readonly due: string;
  /** Done holds that billing was asked for in vain, by the time at which it is asked again. */
  readonly asked: string;
  /** The last look at this bucket and those that were looked at with it. */
  readonly look: string;
  /** Prefixes: the account's or the key's id follows. */
  readonly accounts: string;
  readonly holds: string;
  readonly keyRecords: string;
  readonly texts: string;
  /** Prefixes: `<account>:<minute>` follows. */
  readonly minutes: string;
  readonly playgroundMinutes: string;
}

const BUCKETS = Array.from({ length: 256 }, (_unused, bucket) => makeKeys(bucket));

/** @throws RangeError for a bucket outside 0 to 255 */
export function bucketKeys(bucket: number): BucketKeys {
  const keys = BUCKETS[bucket];
  if (keys === undefined) throw new RangeError(`not a bucket: ${bucket}`);
  return keys;
}

/** The first keys of a script of one bucket, in the order of `POSITIONS.KEY`. */
export function ownKeys({ token, due, asked }: BucketKeys): string[] {
  return [token, due, asked];
}

/** The first keys of a script of one account, in the order of `POSITIONS.KEY`. */
export function accountKeys(keys: BucketKeys, account: string): string[] {
  return [...ownKeys(keys), keys.accounts + account, keys.holds + account];
}

/** The keys of all accounts, as a pattern of Redis. */
export const ACCOUNT_KEYS = '{*}a:*';

/** The account of a key that {@link ACCOUNT_KEYS} matches. */
export function accountOfKey(key: string): string {
  return key.slice(key.indexOf(':') + 1);
}

/** The field of an account that says under which token a key was loaded, and its version. */
export function keyField(key: string): string {
  return `k:${key}`;
}

/** Which replica restores lost buckets. */
export const RESTORER_KEY = '{0}restorer';

/** A route lies outside the buckets: the account is not known before it is read. */
export function routeKey(digest: string): string {
  return `d:${Buffer.from(digest, 'hex').toString('base64url')}`;
}

/** Stands in a route's place while it is remembered that the owner of keys knows no such digest. */
export const NO_ROUTE = '-';

function makeKeys(bucket: number): BucketKeys {
  const tag = `{${bucket}}`;
  return {
    bucket,
    token: `${tag}tok`,
    due: `${tag}due`,
    asked: `${tag}asked`,
    look: `${tag}look`,
    accounts: `${tag}a:`,
    holds: `${tag}h:`,
    keyRecords: `${tag}k:`,
    texts: `${tag}s:`,
    minutes: `${tag}m:`,
    playgroundMinutes: `${tag}p:`,
  };
}
