import { isRecord, type JsonRecord } from './answer-json.js';
import {
  EMPTY_REPORT,
  isTokens,
  readTokens,
  deriveMissingCount,
  type TotalExtra,
  type UsageReport,
} from './read-usage.js';

/** The names of a protocol's counts. */
interface CountNames {
  readonly input: string;
  readonly output: string;
  /** Objects that hold parts of the input, and one that holds parts of the output. */
  readonly inputDetails: readonly string[];
  readonly outputDetails: string;
}

/** One provider uses `prompt_token_details`. */
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

/** Names of the cached input, next to the counts and in the details of the input. */
const CACHED_NAMES = ['cached_tokens', 'prompt_cache_hit_tokens', 'num_cached_tokens'];
const CACHED_DETAILS = ['cached_tokens', 'cache_read_input_tokens'];
/** Names of the cache writes, in the details. */
const WRITTEN_DETAILS = ['cache_write_tokens', 'cache_creation_input_tokens'];

/**
 * Reads the `usage` of a chat or legacy completion. `prompt_tokens` count all input, cached input
 * and cache writes included. `completion_tokens` count all output, except at providers that report
 * reasoning in addition to it: see {@link TotalExtra}. An unreadable member counts as missing,
 * never as 0. A missing count is derived from `total_tokens`.
 */
export function readOpenAiUsage(value: unknown, totalExtra?: TotalExtra): UsageReport {
  return readReport(value, CHAT, totalExtra);
}

/** Reads the `usage` of a response: the same counts under other names. */
export function readResponsesUsage(value: unknown, totalExtra?: TotalExtra): UsageReport {
  return readReport(value, RESPONSES, totalExtra);
}

/** Reads the `usage` of embeddings: only input, which may be reported only as the total. */
export function readEmbeddingsUsage(value: unknown): UsageReport {
  if (!isRecord(value)) return EMPTY_REPORT;
  const report = readParts(value, CHAT);
  const input = report.input ?? report.total;
  return { ...report, input, output: input === null ? null : 0 };
}

function readReport(value: unknown, names: CountNames, totalExtra: TotalExtra = 'reasoning'): UsageReport {
  if (!isRecord(value)) return EMPTY_REPORT;
  const report = readParts(value, names);
  return { ...report, ...withTotal(report, totalExtra) };
}

function readParts(usage: JsonRecord, names: CountNames): UsageReport {
  const input = names.inputDetails.map((name) => usage[name]);
  const output = [usage[names.outputDetails]];
  return {
    input: readTokens(usage[names.input]),
    output: readTokens(usage[names.output]),
    cachedInput: findLargestCount(findLargestCount(null, [usage], CACHED_NAMES), input, CACHED_DETAILS),
    cacheWrite: findLargestCount(null, input, WRITTEN_DETAILS),
    cacheWrite1h: null,
    audioInput: findLargestCount(null, input, AUDIO),
    imageInput: findLargestCount(null, input, IMAGE),
    audioOutput: findLargestCount(null, output, AUDIO),
    imageOutput: findLargestCount(null, output, IMAGE),
    reasoning: findLargestCount(findLargestCount(null, [usage], REASONING), output, REASONING),
    total: readTokens(usage['total_tokens']),
  };
}

const AUDIO = ['audio_tokens'];
const IMAGE = ['image_tokens'];
const REASONING = ['reasoning_tokens'];

/**
 * Adds the tokens that the total has beyond input and output. The source, or the reported
 * reasoning, decides to which count they are added; otherwise they are not charged.
 */
function withTotal(report: UsageReport, totalExtra: TotalExtra): Pick<UsageReport, 'input' | 'output'> {
  const { input, output, total } = report;
  if (input === null || output === null) return deriveMissingCount(report);
  const extra = Math.max(0, (total ?? 0) - input - output);
  if (totalExtra === 'output') return { input, output: output + extra };
  if (totalExtra === 'input') return { input: input + extra, output };
  const reasoning = report.reasoning ?? 0;
  return { input, output: extra >= reasoning ? output + reasoning : output };
}

/**
 * Returns the largest of `least` and the readable counts with these names in any of the objects;
 * null if there is none.
 */
function findLargestCount(least: number | null, holders: readonly unknown[], names: readonly string[]): number | null {
  let most = least;
  for (const holder of holders) {
    if (!isRecord(holder)) continue;
    for (const name of names) {
      const count = holder[name];
      if (isTokens(count) && (most === null || count > most)) most = count;
    }
  }
  return most;
}
