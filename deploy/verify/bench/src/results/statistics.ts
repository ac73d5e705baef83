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
