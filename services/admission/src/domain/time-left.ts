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
