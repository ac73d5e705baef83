import type { TokenKinds, TokenUsage } from '@gateway/metering';
import { isRecord, type JsonRecord } from './answer-json.js';
import { isTokens, type ReadUsage, type TotalExtra } from './read-usage.js';

/** Under which names a protocol reports its counts. */
interface CountNames {
  readonly input: string;
  readonly output: string;
  /** Objects that hold parts of the input, and one that holds parts of the output. */
  readonly inputDetails: readonly string[];
  readonly outputDetails: string;
}

/** One provider writes `prompt_token_details`. */
const CHAT: CountNames = {
  input: 'prompt_tokens',
  output: 'completion_tokens',
  inputDetails: ['prompt_tokens_details', 'prompt_token_details'],
  outputDetails: 'completion_tokens_details',
};
const RESPONSES: CountNames = {
  input: 'input_tokens',
  output: 'output_tokens',
  inputDetails: ['input_tokens_details'],
  outputDetails: 'output_tokens_details',
};

/**
 * Input that came from a cache, beside the counts and among the details of the input: all are names
 * of one count.
 */
const CACHED_NAMES = ['cached_tokens', 'prompt_cache_hit_tokens', 'num_cached_tokens'];
const CACHED_DETAILS = ['cached_tokens', 'cache_read_input_tokens'];
/** Input that was written to a cache, among the details. */
const WRITTEN_DETAILS = ['cache_write_tokens', 'cache_creation_input_tokens'];

/**
 * The `usage` of a chat or legacy completion: `prompt_tokens` count all input, the cached and
 * cache-writing ones among them. `completion_tokens` count all output, except at providers that
 * report reasoning beside it: see {@link TotalExtra}. Only explicit counts are believed: a usage
 * without one of the two, or with a value that is no safe non-negative integer, is malformed, and
 * never read as zero.
 */
export function readOpenAiUsage(value: unknown, totalExtra?: TotalExtra): ReadUsage {
  return readAs(value, (usage) => usageOf(usage, CHAT, totalExtra));
}

/** The `usage` of a response: the same counts under other names. */
export function readResponsesUsage(value: unknown, totalExtra?: TotalExtra): ReadUsage {
  return readAs(value, (usage) => usageOf(usage, RESPONSES, totalExtra));
}

/** The `usage` of embeddings: nothing but input, which is also the total. */
export function readEmbeddingsUsage(value: unknown): ReadUsage {
  return readAs(value, (usage) => partsOf(usage, CHAT, usage['prompt_tokens'] ?? usage['total_tokens'], 0));
}

function readAs(value: unknown, read: (usage: JsonRecord) => ReadUsage): ReadUsage {
  if (value === undefined || value === null) return 'absent';
  return isRecord(value) ? read(value) : 'malformed';
}

function usageOf(usage: JsonRecord, names: CountNames, totalExtra: TotalExtra = 'reasoning'): ReadUsage {
  const parts = partsOf(usage, names, usage[names.input], usage[names.output]);
  return typeof parts === 'string' ? parts : withTotal(parts, usage, names, totalExtra);
}

function partsOf(usage: JsonRecord, names: CountNames, input: unknown, output: unknown): ReadUsage {
  const details = names.inputDetails.map((name) => usage[name]);
  const cachedInput = Math.max(largest(usage, CACHED_NAMES), ...details.map((each) => largest(each, CACHED_DETAILS)));
  const cacheWrite = Math.max(...details.map((each) => largest(each, WRITTEN_DETAILS)));
  if (!isTokens(input) || !isTokens(output) || !isTokens(cachedInput) || !isTokens(cacheWrite)) return 'malformed';
  const kinds = kindsOf(details, usage[names.outputDetails]);
  return { input, cachedInput, cacheWrite, cacheWrite1h: 0, output, ...(kinds === null ? {} : { kinds }) };
}

/** Tokens that are no text; null: none. A count that cannot be believed is of text. */
function kindsOf(inputDetails: readonly unknown[], outputDetails: unknown): TokenKinds | null {
  const ofInput = (name: string): number => Math.max(...inputDetails.map((each) => countOf(each, name)));
  const kinds = {
    audioInput: ofInput('audio_tokens'),
    imageInput: ofInput('image_tokens'),
    audioOutput: countOf(outputDetails, 'audio_tokens'),
    imageOutput: countOf(outputDetails, 'image_tokens'),
  };
  return kinds.audioInput + kinds.imageInput + kinds.audioOutput + kinds.imageOutput === 0 ? null : kinds;
}

/**
 * What the total has more than its parts goes where the source or reported reasoning says; else it
 * is nobody's.
 */
function withTotal(parts: TokenUsage, usage: JsonRecord, names: CountNames, totalExtra: TotalExtra): TokenUsage {
  const total = usage['total_tokens'];
  const extra = isTokens(total) ? Math.max(0, total - parts.input - parts.output) : 0;
  switch (totalExtra) {
    case 'output':
      return { ...parts, output: parts.output + extra };
    case 'input':
      return { ...parts, input: parts.input + extra };
    case 'reasoning': {
      const reasoning = Math.max(
        countOf(usage, 'reasoning_tokens'),
        countOf(usage[names.outputDetails], 'reasoning_tokens'),
      );
      return extra >= reasoning ? { ...parts, output: parts.output + reasoning } : parts;
    }
  }
}

/** Of the counts of these names; 0 when there is none, NaN when one of them is no count. */
function largest(holder: unknown, names: readonly string[]): number {
  if (holder === undefined || holder === null) return 0;
  if (!isRecord(holder)) return Number.NaN;
  return Math.max(...names.map((name) => holder[name] ?? 0).map((count) => (isTokens(count) ? count : Number.NaN)));
}

/** 0 when there is none that can be believed: it only adds. */
function countOf(holder: unknown, name: string): number {
  const count = isRecord(holder) ? holder[name] : undefined;
  return isTokens(count) ? count : 0;
}
