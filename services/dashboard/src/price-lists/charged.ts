import { figuresFromSpec } from '@gateway/contracts/operator';
import {
  resolvePrices,
  withHourWrites,
  type ExtraClass,
  type PriceFigures,
  type ResolvedClass,
  type ResolvedFigures,
} from '@gateway/metering';
import type { Prices } from './prices.js';

/** Prices of a model or costs of a source, with the rules by which requests are charged. */
export interface ChargedPrices {
  readonly prices: Prices;
  /** Whether the source, or any source of the model, serves the messages format. */
  readonly onMessages: boolean;
  /** Classes that requests can ask the source for, including classes without costs. */
  readonly requestable: readonly ExtraClass[];
}

/** Converts the prices to nano-USD, in the form that the catalog publishes. */
export function toFigures({ prices, onMessages }: Pick<ChargedPrices, 'prices' | 'onMessages'>): PriceFigures {
  const figures = figuresFromSpec(prices);
  return onMessages ? withHourWrites(figures) : figures;
}

/** Fills in all missing prices, as edge, admission and billing do. */
export function resolveCharged(charged: Pick<ChargedPrices, 'prices' | 'onMessages'>): ResolvedFigures {
  return resolvePrices(toFigures(charged));
}

/** Returns the costs of a class; a class without costs costs as much as the standard class. */
export function costOfClass(costs: ResolvedFigures, name: ExtraClass): ResolvedClass {
  return costs[name] ?? costs.standard;
}

/** Kinds of tokens: name, price field, and the input or output field that ratios refer to. */
export const TOKEN_KINDS = [
  ['input', 'inputPerMillion', 'inputPerMillion'],
  ['cached input', 'cachedInputPerMillion', 'inputPerMillion'],
  ['cache write', 'cacheWritePerMillion', 'inputPerMillion'],
  ['cache write for an hour', 'cacheWrite1hPerMillion', 'inputPerMillion'],
  ['output', 'outputPerMillion', 'outputPerMillion'],
  ['audio input', 'audioInputPerMillion', 'inputPerMillion'],
  ['image input', 'imageInputPerMillion', 'inputPerMillion'],
  ['audio output', 'audioOutputPerMillion', 'outputPerMillion'],
  ['image output', 'imageOutputPerMillion', 'outputPerMillion'],
] as const;
/** Kinds that a tier states. The other kinds follow from those of its class. */
export const TIER_KINDS = TOKEN_KINDS.slice(0, 5).map(([, field]) => field);
export const MEDIA_KINDS = TOKEN_KINDS.slice(5);
