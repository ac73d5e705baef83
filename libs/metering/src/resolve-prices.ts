import { AMOUNT_NANO_USD_MAX, maxAmount, minAmount } from './money.js';
import { EXTRA_CLASSES } from './price-extras.js';
import type {
  ClassPrices,
  ExtraClass,
  ExtraClassPrices,
  KindPrices,
  PriceClass,
  PriceTier,
  TokenPrices,
} from './price-extras.js';
import type { PriceFigures } from './price-extras.js';

/** A price for every kind of token, in nano-USD per 1,000,000 tokens. */
export interface ResolvedPrices {
  readonly inputPerMillion: bigint;
  readonly cachedInputPerMillion: bigint;
  readonly cacheWritePerMillion: bigint;
  readonly cacheWrite1hPerMillion: bigint;
  readonly outputPerMillion: bigint;
  readonly audioInputPerMillion: bigint;
  readonly imageInputPerMillion: bigint;
  readonly audioOutputPerMillion: bigint;
  readonly imageOutputPerMillion: bigint;
}

/** The prices of one class. Tiers are sorted by `aboveInputTokens`, ascending. */
export interface ResolvedClass extends ResolvedPrices {
  readonly tiers: readonly (ResolvedPrices & { readonly aboveInputTokens: number })[];
}

export type ResolvedFigures = Readonly<Record<'standard', ResolvedClass>> & {
  readonly [Name in ExtraClass]?: ResolvedClass | undefined;
};

const NO_KINDS: KindPrices = { audioInput: null, audioOutput: null, imageInput: null, imageOutput: null };

const resolved = new WeakMap<PriceFigures, ResolvedFigures>();

/**
 * Returns the prices of a version with every missing price filled in
 * (docs/behaviour.md#classes-and-units). Computed once for each object.
 */
export function resolvePrices(price: PriceFigures): ResolvedFigures {
  let figures = resolved.get(price);
  if (figures === undefined) resolved.set(price, (figures = resolve(price)));
  return figures;
}

/** Returns the prices of a class, or the standard ones if the version does not sell the class. */
export function resolveClass(price: PriceFigures, name: PriceClass): ResolvedClass {
  const figures = resolvePrices(price);
  return figures[name] ?? figures.standard;
}

function resolve(price: PriceFigures): ResolvedFigures {
  const standard = standardPrices(price, price.extras?.kinds ?? NO_KINDS);
  const version: Version = { standard, hasHourPrice: price.cacheWrite1hPerMillion !== null };
  const figures: { standard: ResolvedClass; [Name: string]: ResolvedClass } = {
    standard: { ...standard, tiers: resolveTiers(price.tiers, version, null) },
  };
  for (const name of EXTRA_CLASSES) {
    const ofClass = price.extras?.classes[name];
    if (ofClass === undefined) continue;
    const tiers = resolveTiers(ofClass.tiers, version, ofClass);
    figures[name] = { ...scalePrices(ofClass, ofClass.kinds, version, null), tiers };
  }
  return figures;
}

function resolveTiers(
  tiers: readonly PriceTier[],
  version: Version,
  ofClass: ExtraClassPrices | null,
): ResolvedClass['tiers'] {
  return tiers
    .map((tier) => ({ ...scalePrices(tier, NO_KINDS, version, ofClass), aboveInputTokens: tier.aboveInputTokens }))
    .sort((one, other) => one.aboveInputTokens - other.aboveInputTokens);
}

interface Version {
  readonly standard: ResolvedPrices;
  /** True if the version has a separate price for one-hour cache writes. */
  readonly hasHourPrice: boolean;
}

function standardPrices(price: TokenPrices, kinds: KindPrices): ResolvedPrices {
  const { inputPerMillion, outputPerMillion } = price;
  const cacheWritePerMillion = price.cacheWritePerMillion ?? inputPerMillion;
  return {
    inputPerMillion,
    cachedInputPerMillion: price.cachedInputPerMillion ?? inputPerMillion,
    cacheWritePerMillion,
    cacheWrite1hPerMillion: price.cacheWrite1hPerMillion ?? cacheWritePerMillion,
    outputPerMillion,
    audioInputPerMillion: kinds.audioInput ?? inputPerMillion,
    imageInputPerMillion: kinds.imageInput ?? inputPerMillion,
    audioOutputPerMillion: kinds.audioOutput ?? outputPerMillion,
    imageOutputPerMillion: kinds.imageOutput ?? outputPerMillion,
  };
}

/**
 * Computes the prices of a class or of a tier. A missing price is the standard price of that kind
 * times the ratio of the input (or output) prices.
 * @param ofClass the class of a tier, whose own prices have precedence over the standard ones;
 * null: the standard class
 */
function scalePrices(
  given: TokenPrices,
  kinds: KindPrices = NO_KINDS,
  { standard, hasHourPrice }: Version,
  ofClass: ExtraClassPrices | null,
): ResolvedPrices {
  const { inputPerMillion, outputPerMillion } = given;
  const ofInput = (own: bigint | null | undefined, usual: bigint): bigint =>
    ofClass === null || own == null
      ? scale(usual, inputPerMillion, standard.inputPerMillion)
      : scale(own, inputPerMillion, ofClass.inputPerMillion);
  const ofOutput = (own: bigint | null | undefined, usual: bigint): bigint =>
    ofClass === null || own == null
      ? scale(usual, outputPerMillion, standard.outputPerMillion)
      : scale(own, outputPerMillion, ofClass.outputPerMillion);
  const cacheWritePerMillion =
    given.cacheWritePerMillion ?? ofInput(ofClass?.cacheWritePerMillion, standard.cacheWritePerMillion);
  const hasOwnHourPrice = ofClass !== null && ofClass.cacheWrite1hPerMillion !== null;
  return {
    inputPerMillion,
    cachedInputPerMillion:
      given.cachedInputPerMillion ?? ofInput(ofClass?.cachedInputPerMillion, standard.cachedInputPerMillion),
    cacheWritePerMillion,
    cacheWrite1hPerMillion:
      given.cacheWrite1hPerMillion ??
      (hasHourPrice || hasOwnHourPrice
        ? ofInput(ofClass?.cacheWrite1hPerMillion, standard.cacheWrite1hPerMillion)
        : cacheWritePerMillion),
    outputPerMillion,
    audioInputPerMillion: kinds.audioInput ?? ofInput(ofClass?.kinds?.audioInput, standard.audioInputPerMillion),
    imageInputPerMillion: kinds.imageInput ?? ofInput(ofClass?.kinds?.imageInput, standard.imageInputPerMillion),
    audioOutputPerMillion: kinds.audioOutput ?? ofOutput(ofClass?.kinds?.audioOutput, standard.audioOutputPerMillion),
    imageOutputPerMillion: kinds.imageOutput ?? ofOutput(ofClass?.kinds?.imageOutput, standard.imageOutputPerMillion),
  };
}

/**
 * Computes `price` × `text` ÷ `baseText`, rounded half up, at most `AMOUNT_NANO_USD_MAX`. If
 * `baseText` is 0, returns the higher one of `price` and `text`.
 */
function scale(price: bigint, text: bigint, baseText: bigint): bigint {
  if (baseText === 0n) return maxAmount(price, text);
  return minAmount((2n * price * text + baseText) / (2n * baseText), AMOUNT_NANO_USD_MAX);
}

/**
 * Fills in prices of a model on the messages format, or costs of such a source: a missing price of
 * one-hour cache writes becomes twice the input price. The catalog publishes versions in this form,
 * so that edge, admission and billing use the same figures.
 */
export function withHourWrites(price: PriceFigures): PriceFigures {
  if (price.cacheWrite1hPerMillion !== null) return price;
  return mapTokenPrices(price, ({ cacheWrite1hPerMillion, inputPerMillion }) => ({
    cacheWrite1hPerMillion: cacheWrite1hPerMillion ?? minAmount(2n * inputPerMillion, AMOUNT_NANO_USD_MAX),
  }));
}

/** Returns the version with changed token prices of each class and tier. */
export function mapTokenPrices(
  price: PriceFigures,
  change: (prices: TokenPrices) => Partial<TokenPrices>,
): PriceFigures {
  const changed = <C extends ClassPrices>(prices: C): C => ({
    ...prices,
    ...change(prices),
    tiers: prices.tiers.map((tier) => ({ ...tier, ...change(tier) })),
  });
  const { extras } = price;
  if (extras === null) return changed(price);
  const classes: { [Name in ExtraClass]?: ExtraClassPrices } = {};
  for (const name of EXTRA_CLASSES) {
    const ofClass = extras.classes[name];
    if (ofClass !== undefined) classes[name] = changed(ofClass);
  }
  return { ...changed(price), extras: { ...extras, classes } };
}
