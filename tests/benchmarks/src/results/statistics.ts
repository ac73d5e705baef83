import type { LoadResult } from '../load/load-job.js';
import type { PeerId } from '../peers/peer.js';

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
  const rank = Math.max(1, Math.ceil((percent / 100) * sorted.length));
  const value = sorted[rank - 1];
  if (value === undefined) throw new RangeError('cannot compute a percentile of no values or above 100');
  return value;
}

/** Formats a number with thousands separators: 0.213, 4.7, 163, 12,400. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return '';
  const size = Math.abs(value);
  if (size >= 10_000) return (Math.round(value / 100) * 100).toLocaleString('en-US');
  if (size >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/** One measurement of one peer in one scenario and round. */
export interface Sample {
  readonly round: number;
  readonly scenario: string;
  readonly peer: PeerId;
  /** `failures` include those of the warm-up. */
  readonly result: LoadResult;
  /** Failed calls, including those of the warm-up. */
  readonly failed: number;
  /** By process, in microseconds. */
  readonly cpuMicros: Readonly<Record<string, number>>;
  /** CPU of load and provider together, in microseconds. */
  readonly loadMicros: number;
}

/** CPU of a gateway while no call runs. */
export interface IdleReading {
  readonly round: number;
  readonly peer: PeerId;
  /** Microseconds per second, by process. */
  readonly cpuMicrosPerSecond: Readonly<Record<string, number>>;
}
