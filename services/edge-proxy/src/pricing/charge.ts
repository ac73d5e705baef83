import type { DatedVersion, PricedVersion } from '@gateway/contracts/messages';
import { combineSamplings, estimateUsage, rate, STANDARD } from '@gateway/metering';
import type { BoundFigures, CallBounds, NanoUsd, PriceFigures, Served, TokenUsage } from '@gateway/metering';
import type { MeterResult, PartialUsage } from '../formats/meter.js';

/**
 * The end of a dispatched call. `client_disconnected`: the client disconnected before the end.
 * `cut`: the provider or the network broke the response. `failed`: there was no response.
 */
export type CallEnd = 'complete' | 'client_disconnected' | 'cut' | 'failed';

export interface ChargeInput {
  readonly ended: CallEnd;
  /**
   * Null if no usable response head arrived, except for a sent call whose client disconnected
   * before the head.
   */
  readonly meter: MeterResult | null;
  readonly bounds: CallBounds;
  readonly figures: BoundFigures;
  /** The version pinned at admission. */
  readonly price: PriceFigures;
  readonly hold: { readonly worstNanoUsd: NanoUsd };
  /** The served class and units; absent for the standard class without units. */
  readonly served?: Served;
}

/** The charge of a call, with its evidence. */
export interface Charge {
  readonly outcome: 'settled' | 'voided';
  /** Null if voided. */
  readonly usage: TokenUsage | null;
  /** Class and units that are billed in addition to `usage`. */
  readonly served: Served;
  readonly evidence: 'reported' | 'estimated' | 'none';
  /** The exact price of `usage` and `served`; 0 if voided. */
  readonly amountNanoUsd: NanoUsd;
  /**
   * The provider's probable counts for the attempt's record, also of a voided call; null if no
   * response began.
   */
  readonly probableUsage: TokenUsage | null;
}

/**
 * Computes the charge of a call that has ended (docs/behaviour.md#actual-cost). A complete
 * response, or one whose client disconnected, costs the usage that the provider reported; an
 * explicit zero is zero. Missing counts are estimated from the delivered bytes, within the hold. A
 * response that the provider or the network ended costs nothing. A call whose client disconnected
 * before it was sent costs nothing either.
 */
export function computeCharge(facts: ChargeInput): Charge {
  const { ended, meter, price, served: answered = STANDARD } = facts;
  if (meter === null) return { ...VOIDED, served: STANDARD, probableUsage: null };
  const estimate = meter.usage === null ? estimateWithinHold(facts, meter, answered) : null;
  const { usage, served } = estimate ?? { usage: meter.usage, served: answered };
  if (usage === null || ended === 'cut' || ended === 'failed') return { ...VOIDED, served, probableUsage: usage };
  return {
    outcome: 'settled',
    usage,
    served,
    evidence: estimate === null ? 'reported' : 'estimated',
    amountNanoUsd: rate(usage, price, served),
    probableUsage: usage,
  };
}

const VOIDED = { outcome: 'voided', usage: null, evidence: 'none', amountNanoUsd: 0n } as const;

interface Estimate {
  readonly usage: TokenUsage;
  readonly served: Served;
}

/**
 * Estimates the counts that were not reported. Reported counts are kept, also above the hold.
 * Estimated counts are reduced until the price fits the hold. It always fits if admission and edge
 * use the same model figures and the response reports no more uses than the request allows. The
 * usage is reduced, not only the amount, so that rating it again gives the same amount.
 */
function estimateWithinHold(
  { bounds, figures, price, hold }: ChargeInput,
  meter: MeterResult,
  served: Served,
): Estimate {
  const range = toUsageRange(estimateUsage(bounds, figures, meter.deliveredBytes), meter.begun ?? null);
  const usage = fitUsage(range, (each) => rate(each, price, served) <= hold.worstNanoUsd);
  if (usage !== null) return { usage, served };
  if (range.least.input + range.least.output > 0) return { usage: range.usageOf(range.least), served };
  const plain = fitUsage(range, (each) => rate(each, price) <= hold.worstNanoUsd);
  return { usage: plain ?? range.usageOf(range.least), served: STANDARD };
}

interface InOut {
  readonly input: number;
  readonly output: number;
}

/** The range between the reported and the estimated counts. */
interface UsageRange {
  readonly least: InOut;
  readonly most: InOut;
  usageOf(counts: InOut): TokenUsage;
}

function toUsageRange(estimate: TokenUsage, begun: PartialUsage | null): UsageRange {
  if (begun === null) return { least: NOTHING, most: estimate, usageOf: (counts) => ({ ...estimate, ...counts }) };
  const { input, output, outputAtLeast, others, ...parts } = begun;
  const inputAtLeast = parts.cachedInput + parts.cacheWrite + parts.cacheWrite1h;
  return {
    least: { input: input ?? inputAtLeast, output: output ?? outputAtLeast },
    most: {
      input: input ?? Math.max(inputAtLeast, estimate.input),
      output: output ?? Math.max(outputAtLeast, estimate.output),
    },
    usageOf: (counts) => combineSamplings([{ ...parts, ...counts }, ...others]),
  };
}

const NOTHING: InOut = { input: 0, output: 0 };

/** Reduces the output first, then the input; null if nothing fits. */
function fitUsage({ least, most, usageOf }: UsageRange, fits: (usage: TokenUsage) => boolean): TokenUsage | null {
  if (fits(usageOf(most))) return usageOf(most);
  const output = findLargestFit(least.output, most.output, (tokens) => fits(usageOf({ ...most, output: tokens })));
  if (output !== null) return usageOf({ ...most, output });
  const input = findLargestFit(least.input, most.input, (tokens) => fits(usageOf({ ...least, input: tokens })));
  return input === null ? null : usageOf({ ...least, input });
}

/**
 * Returns the largest count from `least` to `most` that fits, if all smaller counts fit too; null
 * if `least` does not fit.
 */
function findLargestFit(least: number, most: number, fits: (count: number) => boolean): number | null {
  if (!fits(least)) return null;
  let low = least;
  let high = most;
  while (low < high) {
    const middle = low + Math.ceil((high - low) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The version in effect at `atMs`. Null: there is none, or it is "unpriced". */
export function findVersionAt(versions: readonly DatedVersion[], atMs: number): PricedVersion | null {
  const inForce = versions.findLast(({ effectiveFrom }) => effectiveFrom <= atMs);
  if (inForce === undefined || inForce.figures === null) return null;
  return { version: inForce.version, figures: inForce.figures };
}
