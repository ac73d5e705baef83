import { combineSamplings, type TokenCounts, type TokenKinds } from '@gateway/metering';
import type { CatalogSource } from '@gateway/contracts/messages';
import type { SaidReader } from '../pricing/said-extras.js';
import { isSet } from './answer-json.js';
import type { MeterResult, PartialUsage } from './meter.js';

/**
 * What `total_tokens` count beyond input and output. `reasoning`: output as far as it holds all
 * reasoning that the answer reports, the rest is charged to nobody. `output`, `input`: all of it is
 * that, as the source says.
 */
export type TotalExtra = NonNullable<CatalogSource['totalExtra']>;

/**
 * Hundreds of times what the largest models take in one request. A larger count is unreadable.
 */
export const TOKENS_MAX = 1_000_000_000;

/** Whether the value is a count: a non-negative integer up to {@link TOKENS_MAX}. */
export function isTokens(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= TOKENS_MAX;
}

/** Null if the value is missing or unreadable as a count. */
export function tokensOf(value: unknown): number | null {
  return isTokens(value) ? value : null;
}

const COUNT_NAMES = [
  'input',
  'output',
  'cachedInput',
  'cacheWrite',
  'cacheWrite1h',
  'audioInput',
  'imageInput',
  'audioOutput',
  'imageOutput',
  'reasoning',
  'total',
] as const;

/**
 * Tokens in one report, or in the best of several; null: not reported, or unreadable. `input` is
 * all input, and `cacheWrite` all tokens that were written to a cache: `cacheWrite1h` are a part of
 * them, and null if the provider does not split them.
 */
export type UsageReport = Readonly<Record<(typeof COUNT_NAMES)[number], number | null>>;

/** A report without any count. */
export const EMPTY_REPORT = Object.fromEntries(COUNT_NAMES.map((name) => [name, null])) as UsageReport;

/**
 * Combines a report with those before it (docs/behaviour.md#actual-cost). A report with input and
 * output replaces them if neither is smaller; parts that it does not break down are kept. Any other
 * report only raises the counts that it has. Nothing is added.
 * @param mayReplace the report has input and output of its own
 */
export function bestReport(before: UsageReport, later: UsageReport, mayReplace = isWhole(later)): UsageReport {
  if (before === EMPTY_REPORT) return later;
  const replaces =
    mayReplace &&
    later.input !== null &&
    later.output !== null &&
    later.input >= (before.input ?? 0) &&
    later.output >= (before.output ?? 0);
  const best = { ...before };
  for (const name of COUNT_NAMES) {
    const count = later[name];
    if (count !== null) best[name] = replaces ? count : Math.max(best[name] ?? 0, count);
  }
  return best;
}

/** Whether a report has input and output. */
export function isWhole({ input, output }: UsageReport): boolean {
  return input !== null && output !== null;
}

/** What the reports of one answer add up to; see {@link MeterResult}. */
export type ReadUsage = Pick<MeterResult, 'usage' | 'problem' | 'begun'>;

export const NO_USAGE: ReadUsage = { usage: null, problem: 'absent' };
export const UNREADABLE_USAGE: ReadUsage = { usage: null, problem: 'malformed' };

/** Keeps the best of an answer's reports. */
export class UsageTally {
  readonly #read: (value: unknown) => UsageReport;
  readonly #hasWrites1h: boolean;
  #isReported = false;
  #best = EMPTY_REPORT;
  #countedBytes = 0;

  /** @param hasWrites1h the request asks for 1-hour cache writes: an unsplit count is of these */
  constructor(read: (value: unknown) => UsageReport, hasWrites1h = false) {
    this.#read = read;
    this.#hasWrites1h = hasWrites1h;
  }

  /** @param deliveredBytes of generated text, up to this report */
  see(value: unknown, deliveredBytes = 0): void {
    if (!isSet(value)) return;
    this.#isReported = true;
    const report = this.#read(value);
    if (countsOutput(report)) this.#countedBytes = deliveredBytes;
    this.#best = bestReport(this.#best, report);
  }

  /**
   * @param deliveredBytes of all generated text: if some came after the last count of the output,
   *   that count was a running one, and the output is at least as much
   */
  read(deliveredBytes = 0): ReadUsage {
    const isUnfinished = countsOutput(this.#best) && deliveredBytes > this.#countedBytes;
    return this.#isReported ? toUsage(this.#best, { hasWrites1h: this.#hasWrites1h, isUnfinished }) : NO_USAGE;
  }
}

/** Whether a report has the output, or a total from which it is derived. */
export function countsOutput({ output, total }: UsageReport): boolean {
  return output !== null || total !== null;
}

export interface UsageFacts {
  readonly hasWrites1h: boolean;
  /** The answer has not ended, or went on after the last report: its output is a lower bound. */
  readonly isUnfinished?: boolean;
  /** Samplings of the same answer that the report does not include. */
  readonly others?: readonly TokenCounts[];
}

/**
 * The usage that a report shows. A missing count is derived from the total; if that is missing too,
 * the result has no usage, but tells what was reported.
 */
export function toUsage(
  report: UsageReport,
  { hasWrites1h, isUnfinished = false, others = [] }: UsageFacts,
): ReadUsage {
  const { input, output } = withDerived(report);
  const counts = countsOf(report, hasWrites1h);
  if (input !== null && output !== null && !isUnfinished) {
    return { usage: combineSamplings([{ input, output, ...counts }, ...others]), problem: null };
  }
  const known = isUnfinished ? null : output;
  const begun: PartialUsage = {
    ...counts,
    input,
    output: known,
    outputAtLeast: output ?? report.reasoning ?? 0,
    others,
  };
  const isEmpty = COUNT_NAMES.every((name) => report[name] === null) && others.length === 0;
  if (isEmpty) return UNREADABLE_USAGE;
  return { usage: null, problem: isUnfinished ? 'absent' : 'malformed', begun };
}

/** A total below the count that is reported is no total. */
export function withDerived({ input, output, total }: UsageReport): Pick<UsageReport, 'input' | 'output'> {
  if (total === null) return { input, output };
  if (output === null && input !== null && total >= input) return { input, output: total - input };
  if (input === null && output !== null && total >= output) return { input: total - output, output };
  return { input, output };
}

/** One sampling of an answer that reports several: a missing count is 0. */
export function toSampling(report: UsageReport, hasWrites1h: boolean): TokenCounts {
  return { input: report.input ?? 0, output: report.output ?? 0, ...countsOf(report, hasWrites1h) };
}

function countsOf(report: UsageReport, hasWrites1h: boolean): Omit<TokenCounts, 'input' | 'output'> {
  const writes = report.cacheWrite ?? 0;
  const cacheWrite1h = Math.min(report.cacheWrite1h ?? (hasWrites1h ? writes : 0), writes);
  const kinds = kindsOf(report);
  return {
    cachedInput: report.cachedInput ?? 0,
    cacheWrite: writes - cacheWrite1h,
    cacheWrite1h,
    ...(kinds === null ? {} : { kinds }),
  };
}

/** Tokens that are not text; null: there are none. */
function kindsOf({ audioInput, imageInput, audioOutput, imageOutput }: UsageReport): TokenKinds | null {
  if (!audioInput && !imageInput && !audioOutput && !imageOutput) return null;
  return {
    audioInput: audioInput ?? 0,
    imageInput: imageInput ?? 0,
    audioOutput: audioOutput ?? 0,
    imageOutput: imageOutput ?? 0,
  };
}

export function meterResult(read: ReadUsage, deliveredBytes: number, finished: boolean): MeterResult {
  return { ...read, deliveredBytes, finished };
}

/** The result with what the answer said of its price; `reader` null: nobody asked. */
export function withSaid(result: MeterResult, reader: SaidReader | null): MeterResult {
  const said = reader?.said() ?? null;
  return said === null ? result : { ...result, said };
}
