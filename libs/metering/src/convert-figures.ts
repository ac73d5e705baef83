/**
 * What each price of a version is quoted in: bigints to count with, integers of the wire, texts of
 * a document.
 */
export interface PricesIn<A> {
  inputPerMillion: A;
  cachedInputPerMillion: A | null;
  cacheWritePerMillion: A | null;
  cacheWrite1hPerMillion: A | null;
  outputPerMillion: A;
}

export interface FiguresIn<A> extends PricesIn<A> {
  perCall: A;
  tiers: (PricesIn<A> & { aboveInputTokens: number })[];
}

/** Prices that may leave out what `null` stands for. */
interface GivenPrices<A> {
  readonly inputPerMillion: A;
  readonly cachedInputPerMillion?: A | null | undefined;
  readonly cacheWritePerMillion?: A | null | undefined;
  readonly cacheWrite1hPerMillion?: A | null | undefined;
  readonly outputPerMillion: A;
}

export interface GivenFigures<A> extends GivenPrices<A> {
  readonly perCall: A;
  readonly tiers: readonly (GivenPrices<A> & { readonly aboveInputTokens: number })[];
}

/**
 * The same figures with each price in another form; the order of tiers stays, and `null` stays
 * `null`.
 */
export function convertFigures<A, B>(figures: GivenFigures<A>, convert: (price: A) => B): FiguresIn<B> {
  return {
    ...convertPrices(figures, convert),
    perCall: convert(figures.perCall),
    tiers: figures.tiers.map((tier) => ({
      aboveInputTokens: tier.aboveInputTokens,
      ...convertPrices(tier, convert),
    })),
  };
}

function convertPrices<A, B>(prices: GivenPrices<A>, convert: (price: A) => B): PricesIn<B> {
  const orNull = (price: A | null | undefined): B | null =>
    price === null || price === undefined ? null : convert(price);
  return {
    inputPerMillion: convert(prices.inputPerMillion),
    cachedInputPerMillion: orNull(prices.cachedInputPerMillion),
    cacheWritePerMillion: orNull(prices.cacheWritePerMillion),
    cacheWrite1hPerMillion: orNull(prices.cacheWrite1hPerMillion),
    outputPerMillion: convert(prices.outputPerMillion),
  };
}
