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

/** Prices of a model or costs of a source, and by what rules requests are charged with them. */
export interface Charged {
  readonly prices: Prices;
  /** The source serves the messages format, or a source of the model does, enabled or not. */
  readonly onMessages: boolean;
  /** Classes that requests can ask a source for, also those that its costs do not have. */
  readonly asks: readonly ExtraClass[];
}

/** The prices in nano-USD, in the form in which the catalog publishes them. */
export function figuresCharged({ prices, onMessages }: Pick<Charged, 'prices' | 'onMessages'>): PriceFigures {
  const figures = figuresFromSpec(prices);
  return onMessages ? withHourWrites(figures) : figures;
}

/** The prices with every missing one filled in, as edge, admission and billing use them. */
export function resolveCharged(charged: Pick<Charged, 'prices' | 'onMessages'>): ResolvedFigures {
  return resolvePrices(figuresCharged(charged));
}

/** A class that the costs do not have costs as standard. */
export function costOfClass(costs: ResolvedFigures, name: ExtraClass): ResolvedClass {
  return costs[name] ?? costs.standard;
}

/** Kinds of tokens: name, field of a document, and field of the text that they count as. */
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
/** Kinds that a tier states; the others follow from those of its class. */
export const TIER_KINDS = TOKEN_KINDS.slice(0, 5).map(([, field]) => field);
export const MEDIA_KINDS = TOKEN_KINDS.slice(5);
