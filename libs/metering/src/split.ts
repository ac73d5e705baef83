import { maxAmount, minAmount } from './money.js';
import type { NanoUsd } from './money.js';

/** The parts of a charge that plan and wallet pay. Both are at least 0. */
export interface FundingSplit {
  plan: NanoUsd;
  wallet: NanoUsd;
}

/**
 * Splits a charge (docs/protocol.md#r7): the plan pays up to `planMax`, then the wallet up to
 * `walletMax` (`null`: no bound), then the plan the remainder. Wallet-funded calls have `planMax` 0
 * and `walletMax` `null`. A bound below 0 counts as 0.
 * @throws RangeError for a charge below 0
 */
export function splitFunding(actual: NanoUsd, planMax: NanoUsd, walletMax: NanoUsd | null): FundingSplit {
  if (actual < 0n) throw new RangeError(`a charge is never below 0: ${actual}`);
  const abovePlan = actual - minAmount(actual, maxAmount(0n, planMax));
  const wallet = walletMax === null ? abovePlan : minAmount(abovePlan, maxAmount(0n, walletMax));
  return { plan: actual - wallet, wallet };
}
