import { EXTRA_CLASSES } from './price-extras.js';
import type { ExtraClass } from './price-extras.js';

/**
 * The prices of a version in one form: bigints for computing, integers for messages, texts for
 * documents.
 */
export interface PricesIn<A> {
  inputPerMillion: A;
  cachedInputPerMillion: A | null;
  cacheWritePerMillion: A | null;
  cacheWrite1hPerMillion: A | null;
  outputPerMillion: A;
}

export interface ClassIn<A> extends PricesIn<A> {
  tiers: (PricesIn<A> & { aboveInputTokens: number })[];
}

interface KindsIn<A> {
  audioInput: A | null;
  audioOutput: A | null;
  imageInput: A | null;
  imageOutput: A | null;
}

export interface ExtrasIn<A> {
  classes: { [Name in ExtraClass]?: ClassIn<A> & { kinds?: KindsIn<A> } };
  units: Record<string, A>;
  kinds: KindsIn<A>;
}

export interface FiguresIn<A> extends ClassIn<A> {
  perCall: A;
  extras: ExtrasIn<A> | null;
}

/** Prices that may be absent instead of null. */
interface GivenPrices<A> {
  readonly inputPerMillion: A;
  readonly cachedInputPerMillion?: A | null | undefined;
  readonly cacheWritePerMillion?: A | null | undefined;
  readonly cacheWrite1hPerMillion?: A | null | undefined;
  readonly outputPerMillion: A;
}

interface GivenClass<A> extends GivenPrices<A> {
  readonly tiers: readonly (GivenPrices<A> & { readonly aboveInputTokens: number })[];
}

export interface GivenExtras<A> {
  readonly classes: {
    readonly [Name in ExtraClass]?: (GivenClass<A> & { readonly kinds?: Readonly<KindsIn<A>> | undefined }) | undefined;
  };
  readonly units: Readonly<Record<string, A>>;
  readonly kinds: Readonly<KindsIn<A>>;
}

export interface GivenFigures<A> extends GivenClass<A> {
  readonly perCall: A;
  readonly extras?: GivenExtras<A> | null | undefined;
}

/**
 * Converts each price to another form. The order of tiers and `null` are kept. Absent extras become
 * `null`.
 */
export function convertFigures<A, B>(figures: GivenFigures<A>, convert: (price: A) => B): FiguresIn<B> {
  return {
    ...convertClass(figures, convert),
    perCall: convert(figures.perCall),
    extras: figures.extras == null ? null : convertExtras(figures.extras, convert),
  };
}

function convertClass<A, B>(prices: GivenClass<A>, convert: (price: A) => B): ClassIn<B> {
  return {
    ...convertPrices(prices, convert),
    tiers: prices.tiers.map((tier) => ({ aboveInputTokens: tier.aboveInputTokens, ...convertPrices(tier, convert) })),
  };
}

/** Converts the prices that a version has in addition to standard tokens. */
export function convertExtras<A, B>({ classes, units, kinds }: GivenExtras<A>, convert: (price: A) => B): ExtrasIn<B> {
  const converted: ExtrasIn<B>['classes'] = {};
  for (const name of EXTRA_CLASSES) {
    const prices = classes[name];
    if (prices === undefined) continue;
    converted[name] = convertClass(prices, convert);
    if (prices.kinds !== undefined) converted[name].kinds = convertKinds(prices.kinds, convert);
  }
  return {
    classes: converted,
    units: Object.fromEntries(Object.entries(units).map(([unit, price]) => [unit, convert(price)])),
    kinds: convertKinds(kinds, convert),
  };
}

function convertKinds<A, B>(kinds: Readonly<KindsIn<A>>, convert: (price: A) => B): KindsIn<B> {
  const orNull = (price: A | null): B | null => (price === null ? null : convert(price));
  return {
    audioInput: orNull(kinds.audioInput),
    audioOutput: orNull(kinds.audioOutput),
    imageInput: orNull(kinds.imageInput),
    imageOutput: orNull(kinds.imageOutput),
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
