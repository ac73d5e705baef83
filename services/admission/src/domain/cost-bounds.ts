import { figuresFromWire, type CallBounds, type WirePriceFigures } from '@gateway/contracts/messages';
import { ATTACHMENT_TOKENS_DEFAULT, leastCost, worstCase } from '@gateway/metering';
import type { PriceFigures } from '@gateway/metering';

/** Highest cost within the bounds, in nano-USD: a safe integer (behaviour §2). */
export function worstNanoUsd(bounds: CallBounds, bytesPerToken: number, figures: WirePriceFigures): number {
  return Number(worstCase(bounds, { bytesPerToken, attachmentTokens: ATTACHMENT_TOKENS_DEFAULT }, fromWire(figures)));
}

/** Lowest cost that a plan-funded call must be able to pay, in nano-USD: a safe integer (behaviour §2). */
export function leastNanoUsd(bounds: CallBounds, figures: WirePriceFigures): number {
  return Number(leastCost(bounds, fromWire(figures)));
}

const converted = new WeakMap<WirePriceFigures, PriceFigures>();

/** A price version is rated by each of its calls and converted once. */
function fromWire(figures: WirePriceFigures): PriceFigures {
  const known = converted.get(figures);
  if (known !== undefined) return known;
  const price = figuresFromWire(figures);
  converted.set(figures, price);
  return price;
}
