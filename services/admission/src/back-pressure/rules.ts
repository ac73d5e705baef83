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

const SAMPLE_MS = 10_000;
/** The rate is that of the last ten minutes. */
const SAMPLES_MAX = 60;
/** What fills more slowly, or not at all, has this long. */
export const TIME_LEFT_MAX_SECONDS = 7 * 86_400;

/** How long a store lasts at the rate at which it fills. */
export class TimeLeft {
  readonly #samples: { readonly atMs: number; readonly bytes: number }[] = [];

  /** Takes one sample in ten seconds, however often it is told. */
  seen(atMs: number, bytes: number): void {
    const last = this.#samples.at(-1);
    if (last !== undefined && atMs - last.atMs < SAMPLE_MS) return;
    this.#samples.push({ atMs, bytes });
    if (this.#samples.length > SAMPLES_MAX) this.#samples.shift();
  }

  /** @returns seconds until `bytesMax` are reached, at most {@link TIME_LEFT_MAX_SECONDS} */
  seconds(bytesMax: number): number {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || bytesMax <= 0) return TIME_LEFT_MAX_SECONDS;
    const left = Math.max(0, bytesMax - last.bytes);
    const perMs = last.atMs === first.atMs ? 0 : (last.bytes - first.bytes) / (last.atMs - first.atMs);
    if (left > 0 && perMs <= 0) return TIME_LEFT_MAX_SECONDS;
    return left === 0 ? 0 : Math.min(TIME_LEFT_MAX_SECONDS, left / perMs / 1_000);
  }
}
