const DAY_MS = 86_400_000;
/** A full Redis rejects admissions, so admission stops at this share. */
export const MEMORY_SHARE_MAX = 0.85;
export const STREAM_SHARE_MAX = 0.9;
const OLDEST_EVENT_MAX_MS = 7 * DAY_MS;

/** Last values read from the stores that admission depends on. Null: not read yet. */
export interface StoreReadings {
  readonly redis: { readonly usedBytes: number; readonly maxBytes: number } | null;
  /**
   * The stream of usage events. Billing trims settled events except for a reserve of one hour, so
   * the stream holds the unsettled events and those about to be trimmed.
   */
  readonly usage: { readonly bytes: number; readonly bytesMax: number; readonly firstAt: number | null } | null;
}

/**
 * Returns why nothing is admitted, or null (docs/protocol.md#r14 and docs/protocol.md#r15). A store
 * without a reading does not stop admission: the edges stop if they cannot store their events.
 */
export function findBackPressureReason({ redis, usage }: StoreReadings, now: number): string | null {
  if (redis && redis.maxBytes > 0 && redis.usedBytes > redis.maxBytes * MEMORY_SHARE_MAX) return 'redis is almost full';
  if (!usage) return null;
  if (usage.bytes > usage.bytesMax * STREAM_SHARE_MAX) return 'the stream of usage events is almost full';
  if (usage.firstAt !== null && now - usage.firstAt > OLDEST_EVENT_MAX_MS) return 'usage events are not settled';
  return null;
}

const SAMPLE_MS = 10_000;
/** The fill rate is computed over the last ten minutes. */
const SAMPLES_MAX = 60;
/** Upper bound of the result. Also returned for a store that does not fill. */
export const TIME_LEFT_MAX_SECONDS = 7 * 86_400;

/** Estimates the time until a store is full, from its fill rate. */
export class FillTimeEstimate {
  readonly #samples: { readonly atMs: number; readonly bytes: number }[] = [];

  /** Keeps at most one sample per ten seconds. */
  seen(atMs: number, bytes: number): void {
    const last = this.#samples.at(-1);
    if (last !== undefined && atMs - last.atMs < SAMPLE_MS) return;
    this.#samples.push({ atMs, bytes });
    if (this.#samples.length > SAMPLES_MAX) this.#samples.shift();
  }

  /** @returns seconds until `bytesMax` is reached, at most {@link TIME_LEFT_MAX_SECONDS} */
  seconds(bytesMax: number): number {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || bytesMax <= 0) return TIME_LEFT_MAX_SECONDS;
    const left = Math.max(0, bytesMax - last.bytes);
    const perMs = last.atMs === first.atMs ? 0 : (last.bytes - first.bytes) / (last.atMs - first.atMs);
    if (left > 0 && perMs <= 0) return TIME_LEFT_MAX_SECONDS;
    return left === 0 ? 0 : Math.min(TIME_LEFT_MAX_SECONDS, left / perMs / 1_000);
  }
}
