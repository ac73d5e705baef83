/** The price classes that a version prices apart; the class `standard` is the version itself. */
export const EXTRA_CLASSES = ['priority', 'flex', 'fast'] as const;
export type ExtraClass = (typeof EXTRA_CLASSES)[number];
export type PriceClass = 'standard' | ExtraClass;

/**
 * Prices in nano-USD per 1,000,000 tokens, at least 0; `null` means a price that follows from the
 * others (`resolvePrices`).
 */
export interface TokenPrices {
  inputPerMillion: bigint;
  cachedInputPerMillion: bigint | null;
  cacheWritePerMillion: bigint | null;
  cacheWrite1hPerMillion: bigint | null;
  outputPerMillion: bigint;
}

/**
 * Long-context prices: they apply to the whole call when its input tokens exceed
 * `aboveInputTokens`.
 */
export interface PriceTier extends TokenPrices {
  aboveInputTokens: number;
}

/** The token prices of one class. The order of `tiers` does not matter. */
export interface ClassPrices extends TokenPrices {
  tiers: readonly PriceTier[];
}

/**
 * Prices in nano-USD per 1,000,000 tokens of a kind. `null` means the price of text in the standard
 * class, and in another class the standard price of the kind times the ratio of the text prices.
 */
export interface KindPrices {
  audioInput: bigint | null;
  audioOutput: bigint | null;
  imageInput: bigint | null;
  imageOutput: bigint | null;
}

/** The token prices of a class other than the standard one. */
export interface ExtraClassPrices extends ClassPrices {
  /** Absent: all of them are null. */
  kinds?: KindPrices | undefined;
}

/** What a price version has beside the tokens of the standard class. */
export interface PriceExtras {
  classes: { readonly [Name in ExtraClass]?: ExtraClassPrices | undefined };
  /** Nano-USD for one use, by the name of the unit. */
  units: Readonly<Record<string, bigint>>;
  /** Of the standard class. */
  kinds: KindPrices;
}

/**
 * One version of a model's price. `perCall` is in nano-USD. The order of `tiers` does not matter.
 */
export interface PriceFigures extends ClassPrices {
  perCall: bigint;
  /** Null: one class, nothing by the piece, and tokens of all kinds cost the same. */
  extras: PriceExtras | null;
}

/**
 * In which class a call is served, and what it uses by the piece: uses by the name of their unit.
 */
export interface Served {
  readonly class: PriceClass;
  readonly units: Readonly<Record<string, number>>;
}

/** What every call is served in that asks for nothing else. */
export const STANDARD: Served = { class: 'standard', units: {} };

/** Whether a version has a price for the class and for each unit. */
export function isPriced(served: Served, extras: PriceExtras | null): boolean {
  return unpricedName(served, extras) === null;
}

/** The first class or unit that a version has no price for; null: it has all. */
export function unpricedName(served: Served, extras: PriceExtras | null): string | null {
  if (classPrices(served.class, extras) === undefined) return served.class;
  return Object.keys(served.units).find((unit) => unitPrice(unit, extras) === null) ?? null;
}

/** The prices of a class: null, those of the version itself; undefined, it has none. */
export function classPrices(name: PriceClass, extras: PriceExtras | null): ClassPrices | null | undefined {
  return name === 'standard' ? null : extras?.classes[name];
}

/** Nano-USD for one use; null: the version has no price for it. Names come from outside. */
export function unitPrice(unit: string, extras: PriceExtras | null): bigint | null {
  if (extras === null || !Object.hasOwn(extras.units, unit)) return null;
  return extras.units[unit] ?? null;
}
