import type { TokenUsage } from '@gateway/metering';
import type { MeterResult } from './meter.js';

/** A provider's usage, or why there is none. */
export type ReadUsage = TokenUsage | 'absent' | 'malformed';

/** A safe non-negative integer: the only thing that is believed as a count. */
export function isTokens(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function meterResult(usage: ReadUsage, deliveredBytes: number, finished: boolean): MeterResult {
  return typeof usage === 'string'
    ? { usage: null, problem: usage, deliveredBytes, finished }
    : { usage, problem: null, deliveredBytes, finished };
}
