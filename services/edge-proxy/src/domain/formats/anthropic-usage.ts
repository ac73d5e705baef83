import { isRecord, type JsonRecord } from './answer-json.js';
import { isTokens, type ReadUsage } from './read-usage.js';

/** A count as it was last reported; NaN: the last report of it was no count; null: there was none. */
type Count = number | null;

/**
 * The usage of the messages protocol, which is reported in parts: `message_start` has the input and a first output,
 * `message_delta` the totals so far. Counts are cumulative: of each the last value wins, and null or absent takes none
 * back. `input_tokens` are those that neither came from the cache nor went into it.
 */
export class AnthropicUsage {
  #isReported = false;
  #isMalformed = false;
  #input: Count = null;
  #output: Count = null;
  #cacheRead: Count = null;
  #cacheWrite: Count = null;
  #cacheWrite5m: Count = null;
  #cacheWrite1h: Count = null;

  see(value: unknown): void {
    if (value === undefined || value === null) return;
    this.#isReported = true;
    this.#isMalformed = !isRecord(value);
    if (!isRecord(value)) return;
    this.#input = next(this.#input, value, 'input_tokens');
    this.#output = next(this.#output, value, 'output_tokens');
    this.#cacheRead = next(this.#cacheRead, value, 'cache_read_input_tokens');
    this.#cacheWrite = next(this.#cacheWrite, value, 'cache_creation_input_tokens');
    const split = value['cache_creation'];
    if (split === undefined || split === null) return;
    if (!isRecord(split)) {
      this.#isMalformed = true;
      return;
    }
    this.#cacheWrite5m = next(this.#cacheWrite5m, split, 'ephemeral_5m_input_tokens');
    this.#cacheWrite1h = next(this.#cacheWrite1h, split, 'ephemeral_1h_input_tokens');
  }

  /** Input and output must both have been reported: neither is ever read as zero because it is missing. */
  read(): ReadUsage {
    if (!this.#isReported) return 'absent';
    const longWrites = this.#cacheWrite1h ?? 0;
    const writes = this.#cacheWrite ?? (this.#cacheWrite5m ?? 0) + longWrites;
    const cachedInput = this.#cacheRead ?? 0;
    const input = (this.#input ?? Number.NaN) + cachedInput + writes;
    const output = this.#output ?? Number.NaN;
    const all = [input, output, cachedInput, writes, longWrites, this.#cacheWrite5m ?? 0];
    if (this.#isMalformed || !all.every(isTokens)) return 'malformed';
    const cacheWrite1h = Math.min(longWrites, writes);
    return { input, cachedInput, cacheWrite: writes - cacheWrite1h, cacheWrite1h, output };
  }
}

function next(before: Count, holder: JsonRecord, name: string): Count {
  const value = holder[name];
  if (value === undefined || value === null) return before;
  return isTokens(value) ? value : Number.NaN;
}
