/**
 * Requires a count (tokens, bytes, elements): a safe integer of at least 0.
 * @throws RangeError, so that an invalid count never becomes an amount
 */
export function requireCount(value: number, name: string): number {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RangeError(`${name} is not a safe non-negative integer: ${value}`);
  }
  return value;
}

/** Limits a count to `Number.MAX_SAFE_INTEGER`, for sums and products. */
export function saturate(count: number): number {
  return Math.min(count, Number.MAX_SAFE_INTEGER);
}
