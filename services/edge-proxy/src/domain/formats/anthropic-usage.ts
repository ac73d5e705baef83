import { isRecord, type JsonRecord } from './answer-json.js';
import { isTokens, type ReadUsage } from './read-usage.js';

/**
 * A count as it was last reported; NaN: the last report of it was no count; null: there was none.
 */
type Count = number | null;

/** Compactions of one answer that are counted; a report of more is malformed. */
const COMPACTIONS_MAX = 1_000;

/**
 * The usage of the messages protocol, which is reported in parts: `message_start` has the input and
 * a first output, `message_delta` the totals so far. Counts are cumulative: of each the last value
 * wins, and null, zero or absent takes none back. `input_tokens` are those that neither came from
 * the cache nor went into it. What a compaction at the provider used stands among the `iterations`
 * alone: it is added. (Iterations of other kinds are in the totals, or are not charged.)
 */
export class AnthropicUsage {
  #isReported = false;
  #isMalformed = false;
  readonly #totals: Counts;
  readonly #cachedInInput: boolean;
  #compactions: readonly Counts[] = [];

  /** @param cachedInInput the source counts cached input in `input_tokens` too (SGLang) */
  constructor(cachedInInput = false) {
    this.#cachedInInput = cachedInInput;
    this.#totals = new Counts(cachedInInput);
  }

  see(value: unknown): void {
    if (value === undefined || value === null) return;
    this.#isReported = true;
    this.#isMalformed = !isRecord(value);
    if (!isRecord(value)) return;
    this.#totals.see(value);
    const { iterations } = value;
    if (!Array.isArray(iterations)) return;
    const compactions = iterations.filter(isRecord).filter(({ type }) => type === 'compaction');
    if (compactions.length < this.#compactions.length) return;
    this.#isMalformed = compactions.length > COMPACTIONS_MAX;
    if (this.#isMalformed) return;
    this.#compactions = compactions.map((each) => new Counts(this.#cachedInInput, each));
  }

  /**
   * Input and output must both have been reported: neither is ever read as zero because it is
   * missing.
   */
  read(): ReadUsage {
    if (!this.#isReported) return 'absent';
    const all = [this.#totals, ...this.#compactions];
    const sum = (of: (counts: Counts) => number): number => all.reduce((tokens, counts) => tokens + of(counts), 0);
    const usage = {
      input: sum((counts) => counts.input),
      cachedInput: sum((counts) => counts.cachedInput),
      cacheWrite: sum((counts) => counts.cacheWrite),
      cacheWrite1h: sum((counts) => counts.cacheWrite1h),
      output: sum((counts) => counts.output),
    };
    const isRead = !this.#isMalformed && Object.values(usage).every(isTokens) && all.every((each) => each.isRead);
    return isRead ? usage : 'malformed';
  }
}

/** The counts of an answer, or of one of its iterations. */
class Counts {
  #input: Count = null;
  #output: Count = null;
  #cacheRead: Count = null;
  #cacheWrite: Count = null;
  #cacheWrite5m: Count = null;
  #cacheWrite1h: Count = null;
  #isSplitRead = true;

  readonly #cachedInInput: boolean;

  constructor(cachedInInput: boolean, reported?: JsonRecord) {
    this.#cachedInInput = cachedInInput;
    if (reported !== undefined) this.see(reported);
  }

  see(value: JsonRecord): void {
    this.#input = next(this.#input, value, 'input_tokens');
    this.#output = next(this.#output, value, 'output_tokens');
    this.#cacheRead = next(this.#cacheRead, value, 'cache_read_input_tokens');
    this.#cacheWrite = next(this.#cacheWrite, value, 'cache_creation_input_tokens');
    const split = value['cache_creation'];
    this.#isSplitRead = split === undefined || split === null || isRecord(split);
    if (!isRecord(split)) return;
    this.#cacheWrite5m = next(this.#cacheWrite5m, split, 'ephemeral_5m_input_tokens');
    this.#cacheWrite1h = next(this.#cacheWrite1h, split, 'ephemeral_1h_input_tokens');
  }

  get isRead(): boolean {
    const all = [this.input, this.output, this.cachedInput, this.#writes, this.#cacheWrite1h ?? 0];
    return this.#isSplitRead && [...all, this.#cacheWrite5m ?? 0].every(isTokens);
  }

  get input(): number {
    const input = this.#input ?? Number.NaN;
    return this.#cachedInInput
      ? Math.max(input, this.cachedInput + this.#writes)
      : input + this.cachedInput + this.#writes;
  }

  get output(): number {
    return this.#output ?? Number.NaN;
  }

  get cachedInput(): number {
    return this.#cacheRead ?? 0;
  }

  /** For five minutes, and those of which no time is known. */
  get cacheWrite(): number {
    return this.#writes - this.cacheWrite1h;
  }

  get cacheWrite1h(): number {
    return Math.min(this.#cacheWrite1h ?? 0, this.#writes);
  }

  get #writes(): number {
    return this.#cacheWrite ?? (this.#cacheWrite5m ?? 0) + (this.#cacheWrite1h ?? 0);
  }
}

function next(before: Count, holder: JsonRecord, name: string): Count {
  const value = holder[name];
  if (value === undefined || value === null) return before;
  if (!isTokens(value)) return Number.NaN;
  return value === 0 && before !== null && before > 0 ? before : value;
}
