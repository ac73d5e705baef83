/** The price classes other than `standard`, whose prices are the version's own. */
export const EXTRA_CLASSES = ['priority', 'flex', 'fast'] as const;
export type ExtraClass = (typeof EXTRA_CLASSES)[number];
export type PriceClass = 'standard' | ExtraClass;

/**
 * Prices in nano-USD per 1,000,000 tokens, at least 0. `null` is a price derived from the others
 * (`resolvePrices`).
 */
export interface TokenPrices {
  inputPerMillion: bigint;
  cachedInputPerMillion: bigint | null;
  cacheWritePerMillion: bigint | null;
  cacheWrite1hPerMillion: bigint | null;
  outputPerMillion: bigint;
}

/** Long-context prices for whole calls with more input tokens than `aboveInputTokens`. */
export interface PriceTier extends TokenPrices {
  aboveInputTokens: number;
}

/** The token prices of one class. The order of `tiers` does not matter. */
export interface ClassPrices extends TokenPrices {
  tiers: readonly PriceTier[];
}

/**
 * Prices in nano-USD per 1,000,000 tokens of a kind. In the standard class `null` is the price of
 * text. In another class it is the standard price of the kind times the ratio of the text prices.
 */
export interface KindPrices {
  audioInput: bigint | null;
  audioOutput: bigint | null;
  imageInput: bigint | null;
  imageOutput: bigint | null;
}

/** The token prices of a class other than the standard one. */
export interface ExtraClassPrices extends ClassPrices {
  /** Absent: all are null. */
  kinds?: KindPrices | undefined;
}

/** The prices of a version in addition to the tokens of the standard class. */
export interface PriceExtras {
  classes: { readonly [Name in ExtraClass]?: ExtraClassPrices | undefined };
  /** Nano-USD per use, by the name of the unit. */
  units: Readonly<Record<string, bigint>>;
  /** Prices of the standard class. */
  kinds: KindPrices;
}

/** One version of a model's price. `perCall` is in nano-USD. `tiers` may have any order. */
export interface PriceFigures extends ClassPrices {
  perCall: bigint;
  /** Null: one class, no units, and tokens of all kinds have the same price. */
  extras: PriceExtras | null;
}

/** The class that serves a call, and the number of uses of each unit. */
export interface Served {
  readonly class: PriceClass;
  readonly units: Readonly<Record<string, number>>;
}

/** The default of a call that requests nothing else. */
export const STANDARD_SERVICE: Served = { class: 'standard', units: {} };

/** Reports whether a version has a price for the class and for each unit. */
export function isPriced(served: Served, extras: PriceExtras | null): boolean {
  return unpricedName(served, extras) === null;
}

/** Returns the first class or unit without a price; null if all have one. */
export function unpricedName(served: Served, extras: PriceExtras | null): string | null {
  if (classPrices(served.class, extras) === undefined) return served.class;
  return Object.keys(served.units).find((unit) => unitPrice(unit, extras) === null) ?? null;
}

/**
 * Returns the prices of a class: null for those of the version itself, undefined if the version
 * does not sell the class.
 */
export function classPrices(name: PriceClass, extras: PriceExtras | null): ClassPrices | null | undefined {
  return name === 'standard' ? null : extras?.classes[name];
}

/**
 * Returns nano-USD per use; null if the version has no price for the unit. Unit names are outside
 * input.
 */
export function unitPrice(unit: string, extras: PriceExtras | null): bigint | null {
  if (extras === null || !Object.hasOwn(extras.units, unit)) return null;
  return extras.units[unit] ?? null;
}
