import type { TokenKinds, TokenUsage } from '@gateway/metering';
import type { CatalogSource } from '@gateway/contracts/messages';
import type { SaidReader } from '../pricing/said-extras.js';
import type { MeterResult } from './meter.js';

/** A provider's usage, or why there is none. */
export type ReadUsage = TokenUsage | 'absent' | 'malformed';

/**
 * What `total_tokens` count beyond input and output. `reasoning`: output as far as it holds all
 * reasoning that the answer reports, the rest is charged to nobody. `output`, `input`: all of it is
 * that, as the source says.
 */
export type TotalExtra = NonNullable<CatalogSource['totalExtra']>;

/**
 * Hundreds of times what the largest models take in one call: a count above is nobody's, and nobody
 * pays for it.
 */
export const TOKENS_MAX = 1_000_000_000;

/** A non-negative integer up to {@link TOKENS_MAX}: the only thing that is believed as a count. */
export function isTokens(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= TOKENS_MAX;
}

/**
 * The usage after a later report: its counts replace those before, except that a zero takes no
 * count back.
 */
export function laterUsage(before: ReadUsage, later: ReadUsage): ReadUsage {
  if (typeof before === 'string' || typeof later === 'string') return later;
  const kinds = laterKinds(before.kinds, later.kinds);
  return {
    input: later.input || before.input,
    cachedInput: later.cachedInput || before.cachedInput,
    cacheWrite: later.cacheWrite || before.cacheWrite,
    cacheWrite1h: later.cacheWrite1h || before.cacheWrite1h,
    output: later.output || before.output,
    ...(kinds === undefined ? {} : { kinds }),
  };
}

function laterKinds(before: TokenKinds | undefined, later: TokenKinds | undefined): TokenKinds | undefined {
  if (before === undefined || later === undefined) return later ?? before;
  return {
    audioInput: later.audioInput || before.audioInput,
    imageInput: later.imageInput || before.imageInput,
    audioOutput: later.audioOutput || before.audioOutput,
    imageOutput: later.imageOutput || before.imageOutput,
  };
}

export function meterResult(usage: ReadUsage, deliveredBytes: number, finished: boolean): MeterResult {
  return typeof usage === 'string'
    ? { usage: null, problem: usage, deliveredBytes, finished }
    : { usage, problem: null, deliveredBytes, finished };
}

/** The result with what the answer said of its price; `reader` null: nobody asked. */
export function withSaid(result: MeterResult, reader: SaidReader | null): MeterResult {
  const said = reader?.said() ?? null;
  return said === null ? result : { ...result, said };
}
