// What a call of a run costs, worked out apart from the project's own arithmetic.
import type { ClientCall, ModelOfRun, Tokens } from './evidence.js';

export const CENT_NANO_USD = 10_000_000n;

/**
 * As the operator API takes them. Odd enough that a sum has to be rounded, and that no two mistakes
 * give the same.
 */
export const RUN_PRICES = {
  rated: { inputPerMillion: '0.0037', outputPerMillion: '0.000691', perCall: '0.000001' },
  cancelled: { inputPerMillion: '0.0037', outputPerMillion: '0.000691', perCall: '0.000001' },
  cent: { inputPerMillion: '0', outputPerMillion: '0', perCall: '0.01' },
} as const satisfies Record<ModelOfRun, object>;

/** The same in nano-USD, for tokens by the million. */
const RATED = { input: 3_700_000n, output: 691_000n, perCall: 1_000n };
const FIGURES = { rated: RATED, cancelled: RATED, cent: { input: 0n, output: 0n, perCall: CENT_NANO_USD } };
const MILLION = 1_000_000n;
/** More input than any prompt of a run can be. */
const INPUT_MAX = 1_000;
/** More than the room that a call leaves above what is reported. */
const OUTPUT_ABOVE = 16;

/** Rounded once, half up. */
export function chargeOf(model: ModelOfRun, { input, output }: Tokens): bigint {
  const figures = FIGURES[model];
  const millionths = BigInt(input) * figures.input + BigInt(output) * figures.output;
  return (2n * millionths + MILLION) / (2n * MILLION) + figures.perCall;
}

/** No call of that number can cost more, however its usage is known. */
export function chargeMax({ model, n }: Pick<ClientCall, 'model' | 'n'>): bigint {
  return chargeOf(model, { input: INPUT_MAX, output: n + OUTPUT_ABOVE });
}
