import { combineSamplings, type TokenCounts } from '@gateway/metering';
import { isRecord, isSet, type JsonRecord } from './answer-json.js';
import type { CountingOptions } from './meter.js';
import {
  combineReports,
  deriveMissingCount,
  hasOutput,
  EMPTY_REPORT,
  isTokens,
  NO_USAGE,
  readTokens,
  toSampling,
  toUsage,
  type UsageResult,
  type UsageReport,
} from './read-usage.js';

/**
 * Reads the usage of the messages protocol, which is reported in parts: `message_start` has the
 * input and a first output, `message_delta` the totals so far. `input_tokens` exclude cached input
 * and cache writes, unless the source's setting differs. A compaction at the provider is reported
 * in `iterations` only: it is a sampling in addition to the totals. If the totals are the sum of
 * several iterations of type `message`, each of these is a sampling. Iterations of other types are
 * part of the totals, or are not charged.
 */
export class AnthropicUsage {
  readonly #cachedInInput: boolean;
  readonly #hasWrites1h: boolean;
  #isReported = false;
  #countedBytes = 0;
  #best = EMPTY_REPORT;
  #compactions: readonly TokenCounts[] = [];
  #messages: readonly TokenCounts[] = [];

  constructor({ cachedInInput = false, cacheWriteTtl1h = false }: CountingOptions = {}) {
    this.#cachedInInput = cachedInInput;
    this.#hasWrites1h = cacheWriteTtl1h;
  }

  /** @param deliveredBytes bytes of generated text up to this report */
  add(value: unknown, deliveredBytes = 0): void {
    if (!isSet(value)) return;
    this.#isReported = true;
    if (!isRecord(value)) return;
    const report = this.#report(value, this.#best);
    if (hasOutput(report)) this.#countedBytes = deliveredBytes;
    this.#best = combineReports(this.#best, report, isTokens(value['input_tokens']) && report.output !== null);
    const { iterations } = value;
    if (!Array.isArray(iterations)) return;
    this.#compactions = pickLargerList(this.#compactions, this.#samplings(iterations, 'compaction'));
    this.#messages = pickLargerList(this.#messages, this.#samplings(iterations, 'message'));
  }

  /**
   * @param finished the response has ended, so that its output is not only the first tokens
   * @param deliveredBytes bytes of all generated text; if some came after the last output count,
   * the response counts as unfinished too
   */
  read(finished = true, deliveredBytes = 0): UsageResult {
    if (!this.#isReported) return NO_USAGE;
    const others = this.#compactions;
    const facts = {
      hasWrites1h: this.#hasWrites1h,
      isUnfinished: !finished || deliveredBytes > this.#countedBytes,
      others,
    };
    const read = toUsage(this.#best, facts);
    const [first, ...more] = this.#messages;
    if (read.usage === null || first === undefined || more.length === 0) return read;
    const sum = combineSamplings([first, ...more]);
    const whole = toSampling(this.#best, this.#hasWrites1h);
    const isSum = SUMMED.every((name) => sum[name] === whole[name]);
    return isSum ? { usage: combineSamplings([first, ...more, ...others]), problem: null } : read;
  }

  #samplings(iterations: readonly unknown[], type: string): TokenCounts[] {
    return iterations
      .filter(isRecord)
      .filter((each) => each['type'] === type)
      .map((each) => toSampling(this.#report(each, EMPTY_REPORT), this.#hasWrites1h));
  }

  /** @param before the earlier reports, completed by a report without `input_tokens` */
  #report(usage: JsonRecord, before: UsageReport): UsageReport {
    const split = isRecord(usage['cache_creation']) ? usage['cache_creation'] : {};
    const write5m = readTokens(split['ephemeral_5m_input_tokens']);
    const write1h = readTokens(split['ephemeral_1h_input_tokens']);
    const isSplit = (write5m ?? 0) + (write1h ?? 0) > 0;
    const cachedInput = readTokens(usage['cache_read_input_tokens']);
    const ofSplit = isSplit ? (write5m ?? 0) + (write1h ?? 0) : null;
    const cacheWrite = readTokens(usage['cache_creation_input_tokens']) ?? ofSplit;
    const unsplit = this.#hasWrites1h ? Math.max(0, (cacheWrite ?? 0) - (write5m ?? 0)) : 0;
    const fresh = readTokens(usage['input_tokens']);
    const report = {
      ...EMPTY_REPORT,
      input: this.#input(fresh, { cachedInput, cacheWrite }, before),
      output: readTokens(usage['output_tokens']),
      cachedInput,
      cacheWrite,
      cacheWrite1h: isSplit ? (write1h ?? unsplit) : this.#raisedWrites1h(cacheWrite, before),
      total: readTokens(usage['total_tokens']),
    };
    return { ...report, ...deriveMissingCount(report) };
  }

  /**
   * Counts cache writes that a later event reports in one sum, after an earlier event has split
   * them by duration. They are 1-hour writes if the request uses 1-hour caching.
   */
  #raisedWrites1h(cacheWrite: number | null, before: UsageReport): number | null {
    if (!this.#hasWrites1h || before.cacheWrite1h === null || cacheWrite === null) return null;
    return before.cacheWrite1h + Math.max(0, cacheWrite - (before.cacheWrite ?? 0));
  }

  #input(fresh: number | null, later: CacheCounts, before: UsageReport): number | null {
    const cached = addCacheCounts(later);
    if (fresh !== null) return this.#cachedInInput ? Math.max(fresh, cached) : fresh + cached;
    if (before.input === null || cached === 0) return null;
    const raised = addCacheCounts({
      cachedInput: Math.max(before.cachedInput ?? 0, later.cachedInput ?? 0),
      cacheWrite: Math.max(before.cacheWrite ?? 0, later.cacheWrite ?? 0),
    });
    return this.#cachedInInput ? Math.max(before.input, raised) : before.input + raised - addCacheCounts(before);
  }
}

type CacheCounts = Pick<UsageReport, 'cachedInput' | 'cacheWrite'>;

const SUMMED = ['input', 'output', 'cachedInput', 'cacheWrite', 'cacheWrite1h'] as const;

function addCacheCounts({ cachedInput, cacheWrite }: CacheCounts): number {
  return (cachedInput ?? 0) + (cacheWrite ?? 0);
}

/** Returns the later list, unless its input or output is smaller. */
function pickLargerList(before: readonly TokenCounts[], later: readonly TokenCounts[]): readonly TokenCounts[] {
  const sum = (list: readonly TokenCounts[], name: 'input' | 'output'): number =>
    list.reduce((tokens, counts) => tokens + counts[name], 0);
  const isSmaller = sum(later, 'input') < sum(before, 'input') || sum(later, 'output') < sum(before, 'output');
  return isSmaller ? before : later;
}
