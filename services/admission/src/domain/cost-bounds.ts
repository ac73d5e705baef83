import { figuresOfVersion, type CallBounds, type PricedVersion } from '@gateway/contracts/messages';
import { ATTACHMENT_TOKENS_DEFAULT, leastCost, worstCase } from '@gateway/metering';

/** Highest cost within the bounds, in nano-USD: a safe integer (docs/behaviour.md#worst-case). */
export function worstNanoUsd(bounds: CallBounds, bytesPerToken: number, price: PricedVersion): number {
  const figures = { bytesPerToken, attachmentTokens: ATTACHMENT_TOKENS_DEFAULT };
  return Number(worstCase(bounds, figures, figuresOfVersion(price)));
}

/**
 * Lowest cost that a plan-funded call must be able to pay, in nano-USD: a safe integer
 * (docs/behaviour.md#who-pays).
 */
export function leastNanoUsd(bounds: CallBounds, price: PricedVersion): number {
  return Number(leastCost(bounds, figuresOfVersion(price)));
}
