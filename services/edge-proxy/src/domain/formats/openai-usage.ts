import type { TokenUsage } from '@gateway/metering';

/** A provider's usage, or why there is none. */
export type ReadUsage = TokenUsage | 'absent' | 'malformed';

/**
 * The `usage` of a chat-completions answer: `prompt_tokens` count all input, the cached ones among them,
 * `completion_tokens` all output with reasoning. Only explicit counts are believed: a usage without one of the two, or
 * with a value that is no safe non-negative integer, is malformed, and never read as zero.
 */
export function readOpenAiUsage(value: unknown): ReadUsage {
  if (value === undefined || value === null) return 'absent';
  if (!isRecord(value)) return 'malformed';
  const cached = cachedTokens(value['prompt_tokens_details']);
  const { prompt_tokens: input, completion_tokens: output } = value;
  if (!isTokens(input) || !isTokens(output) || !isTokens(cached)) return 'malformed';
  return { input, cachedInput: cached, cacheWrite: 0, cacheWrite1h: 0, output };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function cachedTokens(details: unknown): unknown {
  if (details === undefined || details === null) return 0;
  return isRecord(details) ? (details['cached_tokens'] ?? 0) : Number.NaN;
}

function isTokens(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
