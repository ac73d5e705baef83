/** Returns the middle value, or the mean of the two in the middle. NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return ((sorted[Math.floor(sorted.length / 2)] ?? NaN) + (sorted[Math.ceil(sorted.length / 2) - 1] ?? NaN)) / 2;
}

/** Returns the smallest value that at least `percent` of the values do not exceed. NaN without. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(1, Math.ceil((percent / 100) * sorted.length)) - 1] ?? NaN;
}

export function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Returns `after` minus `before` by name. A name without an earlier value counts from zero. */
export function subtract(
  after: Readonly<Record<string, number>>,
  before: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]));
}

/** Changes the first subject in each turn, and reverses the order every other turn. */
export function inTurn<T>(all: readonly T[], turn: number): T[] {
  const order = turn % 2 === 0 ? all : all.toReversed();
  const start = Math.floor(turn / 2) % all.length;
  return [...order.slice(start), ...order.slice(0, start)];
}
