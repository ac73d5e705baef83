import type { TokenUsage } from '@gateway/metering';
import type { MeterResult } from './meter.js';

/** A provider's usage, or why there is none. */
export type ReadUsage = TokenUsage | 'absent' | 'malformed';

/** Hundreds of times what the largest models take in one call: a count above is nobody's, and nobody pays for it. */
export const TOKENS_MAX = 1_000_000_000;

/** A non-negative integer up to {@link TOKENS_MAX}: the only thing that is believed as a count. */
export function isTokens(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= TOKENS_MAX;
}

export function meterResult(usage: ReadUsage, deliveredBytes: number, finished: boolean): MeterResult {
  return typeof usage === 'string'
    ? { usage: null, problem: usage, deliveredBytes, finished }
    : { usage, problem: null, deliveredBytes, finished };
}
