/** In the worst case half of the stream is settled usage; back-pressure begins at 90 %. */
const STREAM_SHARE = 0.4;
/** Share of Redis' memory at which admission stops. */
const REDIS_SHARE = 0.85;
/** Bytes per call, rounded up: stored in the stream, and held in Redis after its end. */
export const BYTES_PER_CALL = { stream: 1_000, redis: 400 };
/** Redis memory for 100,000 accounts. */
const REDIS_BYTES_OF_ACCOUNTS = 150_000_000;

export interface StoreSizes {
  readonly streamBytes: number;
  /** 0: no known limit. */
  readonly redisBytes: number;
}

/**
 * Computes the whole minutes without billing until no call is admitted.
 * @param perCall bytes of one call in each store
 */
export function computeOutageMinutes(
  { streamBytes, redisBytes }: StoreSizes,
  callsPerSecond: number,
  perCall = BYTES_PER_CALL,
): number {
  const stream = (streamBytes * STREAM_SHARE) / perCall.stream;
  const redis = (redisBytes * REDIS_SHARE - REDIS_BYTES_OF_ACCOUNTS) / perCall.redis;
  const calls = Math.max(0, redisBytes === 0 ? stream : Math.min(stream, redis));
  return Math.floor(calls / callsPerSecond / 60);
}
