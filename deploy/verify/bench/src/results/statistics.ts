/**
 * The middle value; of an even number of values the mean of the two in the middle. @throws
 * RangeError without values
 */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.ceil(sorted.length / 2) - 1];
  if (upper === undefined || lower === undefined) throw new RangeError('no median of nothing');
  return (lower + upper) / 2;
}

/**
 * The smallest value that at least `percent` of the values do not exceed (nearest rank). @throws
 * RangeError without values
 */
export function percentile(sorted: ArrayLike<number>, percent: number): number {
  const rank = Math.max(1, Math.ceil((percent / 100) * sorted.length));
  const value = sorted[rank - 1];
  if (value === undefined) throw new RangeError('no percentile of nothing, nor above 100');
  return value;
}
