import { estimateUsage, rate, STANDARD } from '@gateway/metering';
import type { BoundFigures, CallBounds, NanoUsd, PriceFigures, Served, TokenUsage } from '@gateway/metering';
import type { MeterResult } from '../formats/meter.js';

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
 * that the client left cost what the provider reported (an explicit zero is zero), else an estimate
 * of what was delivered, which is never above the hold. What provider or network ended costs
 * nothing, and so does a call that the client left before it was sent.
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
 * An estimate whose price is at most the hold. It always is when admission and edge know the same
 * figures of the model, and the answer reports no more uses than the request was bound to; when
 * they differ for a moment, the estimate shrinks, and not only its amount: whoever rates it again
 * gets the same. Input that the provider has counted already is not estimated.
 */
function estimateWithinHold(
  { bounds, figures, price, hold }: ChargeFacts,
  meter: MeterResult,
  served: Served,
): Estimate {
  const whole = estimateUsage(bounds, figures, meter.deliveredBytes);
  const begun = meter.begun ?? null;
  const estimate = begun === null ? whole : { ...begun, output: Math.max(begun.output, whole.output) };
  const fitted = fittedUsage(estimate, (usage) => rate(usage, price, served) <= hold.worstNanoUsd);
  if (fitted !== null) return { usage: fitted, served };
  const usage = fittedUsage(estimate, (each) => rate(each, price) <= hold.worstNanoUsd);
  return { usage: usage ?? { ...estimate, input: 0, output: 0 }, served: STANDARD };
}

/** With less output, then with less input; null: nothing fits. */
function fittedUsage(estimate: TokenUsage, fits: (usage: TokenUsage) => boolean): TokenUsage | null {
  if (fits(estimate)) return estimate;
  const output = largest(estimate.output, (tokens) => fits({ ...estimate, output: tokens }));
  if (output !== null) return { ...estimate, output };
  const input = largest(estimate.input, (tokens) => fits({ ...estimate, input: tokens, output: 0 }));
  return input === null ? null : { ...estimate, input, output: 0 };
}

/**
 * A count up to `most` that fits, the largest if a smaller one always fits too; null if 0 does not
 * fit.
 */
function largest(most: number, fits: (count: number) => boolean): number | null {
  if (!fits(0)) return null;
  let low = 0;
  let high = most;
  while (low < high) {
    const middle = low + Math.ceil((high - low) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}
