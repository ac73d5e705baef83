import { isRecord } from './answer-json.js';
import { isTokens, type ReadUsage } from './read-usage.js';

/**
 * The `usage` of a chat or legacy completion: `prompt_tokens` count all input, the cached and cache-writing ones among
 * them, `completion_tokens` all output with reasoning. Only explicit counts are believed: a usage without one of the two,
 * or with a value that is no safe non-negative integer, is malformed, and never read as zero.
 */
export function readOpenAiUsage(value: unknown): ReadUsage {
  if (value === undefined || value === null) return 'absent';
  if (!isRecord(value)) return 'malformed';
  return usageOf(value['prompt_tokens'], value['prompt_tokens_details'], value['completion_tokens']);
}

/** The `usage` of a response: the same counts under other names. */
export function readResponsesUsage(value: unknown): ReadUsage {
  if (value === undefined || value === null) return 'absent';
  if (!isRecord(value)) return 'malformed';
  return usageOf(value['input_tokens'], value['input_tokens_details'], value['output_tokens']);
}

/** The `usage` of embeddings: nothing but input, which is also the total. */
export function readEmbeddingsUsage(value: unknown): ReadUsage {
  if (value === undefined || value === null) return 'absent';
  if (!isRecord(value)) return 'malformed';
  return usageOf(value['prompt_tokens'] ?? value['total_tokens'], value['prompt_tokens_details'], 0);
}

function usageOf(input: unknown, details: unknown, output: unknown): ReadUsage {
  const cachedInput = detail(details, 'cached_tokens');
  const cacheWrite = detail(details, 'cache_write_tokens');
  if (!isTokens(input) || !isTokens(output) || !isTokens(cachedInput) || !isTokens(cacheWrite)) return 'malformed';
  return { input, cachedInput, cacheWrite, cacheWrite1h: 0, output };
}

function detail(details: unknown, name: string): unknown {
  if (details === undefined || details === null) return 0;
  return isRecord(details) ? (details[name] ?? 0) : Number.NaN;
}
