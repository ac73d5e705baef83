import { parseUsd, rate } from '@gateway/metering';

/** Prices of calls under load, chosen so that different errors give different sums. */
export const PRICES = { inputPerMillion: '3.00', outputPerMillion: '15.00', perCall: '0.000001' };

/** Worst case and charge of a call are one cent for any tokens. */
export const CENT = { inputPerMillion: '0', outputPerMillion: '0', perCall: '0.01' };
export const CENT_NANO_USD = 10_000_000n;

const FIGURES = {
  inputPerMillion: parseUsd(PRICES.inputPerMillion),
  cachedInputPerMillion: null,
  cacheWritePerMillion: null,
  cacheWrite1hPerMillion: null,
  outputPerMillion: parseUsd(PRICES.outputPerMillion),
  perCall: parseUsd(PRICES.perCall),
  tiers: [],
  extras: null,
};

/**
 * Returns the cost of a call at {@link PRICES} in nano-USD, from the usage in the client's
 * response.
 */
export function computeCharge(usage: { readonly prompt_tokens: number; readonly completion_tokens: number }): bigint {
  const { prompt_tokens: input, completion_tokens: output } = usage;
  return rate({ input, output, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0 }, FIGURES);
}
