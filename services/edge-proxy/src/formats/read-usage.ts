import { combineSamplings, type TokenCounts, type TokenKinds } from '@gateway/metering';
import type { CatalogSource } from '@gateway/contracts/messages';
import type { ReportedExtrasReader } from '../pricing/reported-extras.js';
import { isSet } from './answer-json.js';
import type { MeterResult, PartialUsage } from './meter.js';

/**
 * The meaning of the tokens in `total_tokens` beyond input and output. `reasoning`: if they are at
 * least as many as the reported reasoning tokens, these are output; the others are not charged.
 * `output`, `input`: all are of this kind.
 */
export type TotalExtra = NonNullable<CatalogSource['totalExtra']>;

/**
 * Larger counts are unreadable. This is hundreds of times the input that the largest models accept.
 */
export const TOKENS_MAX = 1_000_000_000;

/** Returns whether the value is a count: a non-negative integer up to {@link TOKENS_MAX}. */
export function isTokens(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= TOKENS_MAX;
}

/** Returns null if the value is missing or unreadable as a count. */
export function readTokens(value: unknown): number | null {
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
 * Tokens in one report, or in the best of several; null if not reported or unreadable. `input` is
 * all input and `cacheWrite` all cache writes. `cacheWrite1h` is a part of the latter, and null if
 * the provider does not split them.
 */
export type UsageReport = Readonly<Record<(typeof COUNT_NAMES)[number], number | null>>;

/** A report without any count. */
export const EMPTY_REPORT = Object.fromEntries(COUNT_NAMES.map((name) => [name, null])) as UsageReport;

/**
 * Combines a report with the earlier ones (docs/behaviour.md#actual-cost). A report with input and
 * output replaces them if neither is smaller; parts that it does not break down are kept. Any other
 * report only raises the counts that it has. Counts are never added.
 * @param mayReplace the report has its own input and output
 */
export function combineReports(
  before: UsageReport,
  later: UsageReport,
  mayReplace = hasInputAndOutput(later),
): UsageReport {
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

/** Returns whether a report has input and output. */
export function hasInputAndOutput({ input, output }: UsageReport): boolean {
  return input !== null && output !== null;
}

/** The combined reports of one response; see {@link MeterResult}. */
export type UsageResult = Pick<MeterResult, 'usage' | 'problem' | 'begun'>;

export const NO_USAGE: UsageResult = { usage: null, problem: 'absent' };
export const UNREADABLE_USAGE: UsageResult = { usage: null, problem: 'malformed' };

/** Keeps the best of a response's reports. */
export class UsageTally {
  readonly #read: (value: unknown) => UsageReport;
  readonly #hasWrites1h: boolean;
  #isReported = false;
  #best = EMPTY_REPORT;
  #countedBytes = 0;

  /** @param hasWrites1h the request uses 1-hour caching: an unsplit count is of 1-hour writes */
  constructor(read: (value: unknown) => UsageReport, hasWrites1h = false) {
    this.#read = read;
    this.#hasWrites1h = hasWrites1h;
  }

  /** @param deliveredBytes bytes of generated text up to this report */
  add(value: unknown, deliveredBytes = 0): void {
    if (!isSet(value)) return;
    this.#isReported = true;
    const report = this.#read(value);
    if (hasOutput(report)) this.#countedBytes = deliveredBytes;
    this.#best = combineReports(this.#best, report);
  }

  /**
   * @param deliveredBytes bytes of all generated text; if some came after the last output count,
   * the output is at least that count
   */
  read(deliveredBytes = 0): UsageResult {
    const isUnfinished = hasOutput(this.#best) && deliveredBytes > this.#countedBytes;
    return this.#isReported ? toUsage(this.#best, { hasWrites1h: this.#hasWrites1h, isUnfinished }) : NO_USAGE;
  }
}

/** Returns whether a report has the output, or a total to derive it. */
export function hasOutput({ output, total }: UsageReport): boolean {
  return output !== null || total !== null;
}

export interface UsageInput {
  readonly hasWrites1h: boolean;
  /**
   * The response has not ended, or continued after the last report: its output is a lower bound.
   */
  readonly isUnfinished?: boolean;
  /** Samplings of the same response that the report does not include. */
  readonly others?: readonly TokenCounts[];
}

/**
 * Computes the usage of a report. A missing count is derived from the total. Without a total the
 * result has no usage, but the reported counts.
 */
export function toUsage(
  report: UsageReport,
  { hasWrites1h, isUnfinished = false, others = [] }: UsageInput,
): UsageResult {
  const { input, output } = deriveMissingCount(report);
  const counts = toCounts(report, hasWrites1h);
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

/** Derives a missing count from the total. A total below the reported count is ignored. */
export function deriveMissingCount({ input, output, total }: UsageReport): Pick<UsageReport, 'input' | 'output'> {
  if (total === null) return { input, output };
  if (output === null && input !== null && total >= input) return { input, output: total - input };
  if (input === null && output !== null && total >= output) return { input: total - output, output };
  return { input, output };
}

/** Converts one sampling of a response that reports several. A missing count is 0. */
export function toSampling(report: UsageReport, hasWrites1h: boolean): TokenCounts {
  return { input: report.input ?? 0, output: report.output ?? 0, ...toCounts(report, hasWrites1h) };
}

function toCounts(report: UsageReport, hasWrites1h: boolean): Omit<TokenCounts, 'input' | 'output'> {
  const writes = report.cacheWrite ?? 0;
  const cacheWrite1h = Math.min(report.cacheWrite1h ?? (hasWrites1h ? writes : 0), writes);
  const kinds = toTokenKinds(report);
  return {
    cachedInput: report.cachedInput ?? 0,
    cacheWrite: writes - cacheWrite1h,
    cacheWrite1h,
    ...(kinds === null ? {} : { kinds }),
  };
}

/** Returns the tokens that are not text; null if there are none. */
function toTokenKinds({ audioInput, imageInput, audioOutput, imageOutput }: UsageReport): TokenKinds | null {
  if (!audioInput && !imageInput && !audioOutput && !imageOutput) return null;
  return {
    audioInput: audioInput ?? 0,
    imageInput: imageInput ?? 0,
    audioOutput: audioOutput ?? 0,
    imageOutput: imageOutput ?? 0,
  };
}

export function createMeterResult(read: UsageResult, deliveredBytes: number, finished: boolean): MeterResult {
  return { ...read, deliveredBytes, finished };
}

/** Adds the values that affect the price; `reader` is null if the source has no pricing rules. */
export function withReportedExtras(result: MeterResult, reader: ReportedExtrasReader | null): MeterResult {
  const reported = reader?.reported() ?? null;
  return reported === null ? result : { ...result, reported };
}
