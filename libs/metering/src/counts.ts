/**
 * Asserts a count (tokens, bytes, elements): a safe integer of at least 0.
 * @throws RangeError so that a broken count never becomes an amount
 */
export function requireCount(value: number, name: string): number {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RangeError(`${name} is not a safe non-negative integer: ${value}`);
  }
  return value;
}

/**
 * A count that is never above `Number.MAX_SAFE_INTEGER`; sums and products beyond it stay at it.
 */
export function saturate(count: number): number {
  return Math.min(count, Number.MAX_SAFE_INTEGER);
}
