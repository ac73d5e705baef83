/**
 * Returns the middle value, or the mean of the two in the middle. @throws RangeError without values
 */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.ceil(sorted.length / 2) - 1];
  if (upper === undefined || lower === undefined) throw new RangeError('cannot compute the median of no values');
  return (lower + upper) / 2;
}

/**
 * Returns the smallest value that at least `percent` of the values do not exceed (nearest rank).
 * @throws RangeError without values
 */
export function percentile(sorted: ArrayLike<number>, percent: number): number {
  const value = sorted[Math.max(1, Math.ceil((percent / 100) * sorted.length)) - 1];
  if (value === undefined) throw new RangeError('cannot compute a percentile of no values or above 100');
  return value;
}

export interface Spread {
  readonly p50: number;
  readonly p99: number;
}

export function spreadOf(values: Iterable<number>): Spread {
  const sorted = Float64Array.from(values).sort();
  return sorted.length === 0 ? { p50: 0, p99: 0 } : { p50: percentile(sorted, 50), p99: percentile(sorted, 99) };
}

export function sumOf(values: Iterable<number>): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

/** Returns `after` minus `before` by name. A name without an earlier value counts from zero. */
export function subtract(
  after: Readonly<Record<string, number>>,
  before: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]));
}

/** Formats a number with thousands separators: 0.213, 4.7, 163, 12,400. Empty if it is unknown. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '';
  const size = Math.abs(value);
  if (size >= 10_000) return (Math.round(value / 100) * 100).toLocaleString('en-US');
  if (size >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/** Values of both sides in one round. */
export interface Pair {
  readonly ours: number;
  readonly theirs: number;
}

/** Comparison of two sides over the rounds. */
export interface Factor extends Pair {
  /**
   * Median and quartiles of the quotients within each round, so that a slower machine has no
   * effect.
   */
  readonly median: number;
  readonly quartiles: readonly [number, number];
  readonly rounds: number;
  /** True if the rounds differ too much, or are too few, for a reliable median. */
  readonly isNoisy: boolean;
}

/** Fewer rounds do not show their spread. */
export const ROUNDS_MIN = 5;
/** The middle half of the rounds may span this share of the median. Then 5 % is visible. */
export const SPAN_MAX = 0.1;

/** Compares the finite pairs. Null without one. */
export function compare(pairs: readonly Pair[]): Factor | null {
  const both = pairs.filter(({ ours, theirs }) => Number.isFinite(ours / theirs));
  if (both.length === 0) return null;
  const quotients = both.map(({ ours, theirs }) => ours / theirs).sort((a, b) => a - b);
  const [middle, low, high] = [median(quotients), percentile(quotients, 25), percentile(quotients, 75)];
  return {
    ours: median(both.map(({ ours }) => ours)),
    theirs: median(both.map(({ theirs }) => theirs)),
    median: middle,
    quartiles: [low, high],
    rounds: both.length,
    isNoisy: both.length < ROUNDS_MIN || high - low > SPAN_MAX * middle,
  };
}
