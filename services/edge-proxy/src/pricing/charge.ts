import { combineSamplings, estimateUsage, rate, STANDARD } from '@gateway/metering';
import type { BoundFigures, CallBounds, NanoUsd, PriceFigures, Served, TokenUsage } from '@gateway/metering';
import type { MeterResult, PartialUsage } from '../formats/meter.js';

/**
 * How a dispatched call ended. `client_left`: before its end; `cut`: by provider or network;
 * `failed`: no answer.
 */
export type CallEnd = 'complete' | 'client_left' | 'cut' | 'failed';

export interface ChargeFacts {
  readonly ended: CallEnd;
  /**
   * Null when no usable response head arrived, unless the client of a call that was sent left
   * before.
   */
  readonly meter: MeterResult | null;
  readonly bounds: CallBounds;
  readonly figures: BoundFigures;
  /** The version pinned at admission. */
  readonly price: PriceFigures;
  readonly hold: { readonly worstNanoUsd: NanoUsd };
  /** What the answer was served in beside its tokens; absent: the standard class alone. */
  readonly served?: Served;
}

/** What a call is charged, and why. */
export interface Charge {
  readonly outcome: 'settled' | 'voided';
  /** Null when voided. */
  readonly usage: TokenUsage | null;
  /** What is billed beside `usage`. */
  readonly served: Served;
  readonly evidence: 'reported' | 'estimated' | 'none';
  /** Exactly what `usage` and `served` cost at the price; 0 when voided. */
  readonly amountNanoUsd: NanoUsd;
  /**
   * What the provider probably counts, for the attempt's record, also of a voided call; null if no
   * answer began.
   */
  readonly probableUsage: TokenUsage | null;
}

/**
 * The charge of a call that has ended (docs/behaviour.md#actual-cost). A complete answer and one
 * that the client left cost what the provider reported (an explicit zero is zero). Counts that are
 * missing are estimated from what was delivered, within the hold. What provider or network ended
 * costs nothing, and so does a call that the client left before it was sent.
 */
export function chargeOf(facts: ChargeFacts): Charge {
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
 * Estimates the counts that were not reported. Reported counts stand, and are charged above the
 * hold too. Estimated ones shrink until the price fits the hold: it always fits if admission and
 * edge know the same figures of the model and the answer reports no more uses than the request was
 * bound to. The usage shrinks, not only the amount, so that rating it again gives the same.
 */
function estimateWithinHold(
  { bounds, figures, price, hold }: ChargeFacts,
  meter: MeterResult,
  served: Served,
): Estimate {
  const range = rangeOf(estimateUsage(bounds, figures, meter.deliveredBytes), meter.begun ?? null);
  const usage = fittedUsage(range, (each) => rate(each, price, served) <= hold.worstNanoUsd);
  if (usage !== null) return { usage, served };
  if (range.least.input + range.least.output > 0) return { usage: range.usageOf(range.least), served };
  const plain = fittedUsage(range, (each) => rate(each, price) <= hold.worstNanoUsd);
  return { usage: plain ?? range.usageOf(range.least), served: STANDARD };
}

interface InOut {
  readonly input: number;
  readonly output: number;
}

/** Between what was reported and what is estimated. */
interface UsageRange {
  readonly least: InOut;
  readonly most: InOut;
  usageOf(counts: InOut): TokenUsage;
}

function rangeOf(estimate: TokenUsage, begun: PartialUsage | null): UsageRange {
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

/** With less output, then with less input; null: nothing fits. */
function fittedUsage({ least, most, usageOf }: UsageRange, fits: (usage: TokenUsage) => boolean): TokenUsage | null {
  if (fits(usageOf(most))) return usageOf(most);
  const output = largest(least.output, most.output, (tokens) => fits(usageOf({ ...most, output: tokens })));
  if (output !== null) return usageOf({ ...most, output });
  const input = largest(least.input, most.input, (tokens) => fits(usageOf({ ...least, input: tokens })));
  return input === null ? null : usageOf({ ...least, input });
}

/**
 * A count from `least` to `most` that fits, the largest if a smaller one always fits too; null if
 * `least` does not fit.
 */
function largest(least: number, most: number, fits: (count: number) => boolean): number | null {
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
