// Computes the charge of a call, independently of the project's own arithmetic.
import type { ClientCall, ModelOfRun, Tokens } from './evidence.js';

export const CENT_NANO_USD = 10_000_000n;

/**
 * Prices in the format of the operator API. Their digits force a rounding, and make different
 * mistakes give different sums.
 */
export const RUN_PRICES = {
  rated: { inputPerMillion: '0.0037', outputPerMillion: '0.000691', perCall: '0.000001' },
  cancelled: { inputPerMillion: '0.0037', outputPerMillion: '0.000691', perCall: '0.000001' },
  cent: { inputPerMillion: '0', outputPerMillion: '0', perCall: '0.01' },
} as const satisfies Record<ModelOfRun, object>;

/** The same prices in nano-USD; tokens per million. */
const RATED = { input: 3_700_000n, output: 691_000n, perCall: 1_000n };
const FIGURES = { rated: RATED, cancelled: RATED, cent: { input: 0n, output: 0n, perCall: CENT_NANO_USD } };
const MILLION = 1_000_000n;
/** More input tokens than any prompt of a run has. */
const INPUT_MAX = 1_000;
/** More tokens than a call allows above the reported number. */
const OUTPUT_ABOVE = 16;

/** Rounds half up, once, at the end. */
export function chargeOf(model: ModelOfRun, { input, output }: Tokens): bigint {
  const figures = FIGURES[model];
  const millionths = BigInt(input) * figures.input + BigInt(output) * figures.output;
  return (2n * millionths + MILLION) / (2n * MILLION) + figures.perCall;
}

/** Returns the highest possible charge of a call, whether its usage is reported or estimated. */
export function chargeMax({ model, n }: Pick<ClientCall, 'model' | 'n'>): bigint {
  return chargeOf(model, { input: INPUT_MAX, output: n + OUTPUT_ABOVE });
}
