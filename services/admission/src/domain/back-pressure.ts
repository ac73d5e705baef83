const DAY_MS = 86_400_000;
/** Redis refuses to run admissions when it is full; admission stops before. */
export const MEMORY_SHARE_MAX = 0.85;
export const STREAM_SHARE_MAX = 0.9;
const OLDEST_EVENT_MAX_MS = 7 * DAY_MS;

/** What was last seen of the stores behind an admission; null: not seen yet. */
export interface StoreFacts {
  readonly redis: { readonly usedBytes: number; readonly maxBytes: number } | null;
  /**
   * The stream of usage events. Billing trims what it has settled but for an hour's reserve, so
   * what is there is what is unsettled or about to be trimmed.
   */
  readonly usage: { readonly bytes: number; readonly bytesMax: number; readonly firstAt: number | null } | null;
}

/**
 * Why nothing is admitted, or null (docs/protocol.md#r14 and docs/protocol.md#r15). A store that
 * was not seen stops nothing: the edges stop by themselves when their events cannot be stored.
 */
export function backPressureReasonOf({ redis, usage }: StoreFacts, now: number): string | null {
  if (redis && redis.maxBytes > 0 && redis.usedBytes > redis.maxBytes * MEMORY_SHARE_MAX) return 'redis is almost full';
  if (!usage) return null;
  if (usage.bytes > usage.bytesMax * STREAM_SHARE_MAX) return 'the stream of usage events is almost full';
  if (usage.firstAt !== null && now - usage.firstAt > OLDEST_EVENT_MAX_MS) return 'usage events are not settled';
  return null;
}
