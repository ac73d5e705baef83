import type { NanoUsd } from './money.js';

/** A reported cost above this multiple of the computed one is a fault of the report. */
export const REPORTED_COST_FACTOR_MAX = 100n;

/**
 * Returns what an attempt cost: the provider's own figure if it is above 0 and at most
 * {@link REPORTED_COST_FACTOR_MAX} times the computed cost, else the computed cost.
 * @param computed from usage and cost version; null: one of them is not known
 * @param reported absent: the response reports none
 */
export function recordedCost(computed: NanoUsd | null, reported: NanoUsd | undefined): NanoUsd | null {
  if (computed === null || reported === undefined || reported <= 0n) return computed;
  return reported <= computed * REPORTED_COST_FACTOR_MAX ? reported : computed;
}
