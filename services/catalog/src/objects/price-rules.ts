import {
  convertExtras,
  convertFigures,
  EXTRA_CLASSES,
  formatUsd,
  parseUsd,
  type ExtraClass,
  type PriceExtras,
  type PriceFigures,
  type TokenPrices,
} from '@gateway/metering';
import type { WirePriceFigures } from '@gateway/contracts/messages';
import {
  isRefusal,
  PRICE_UNITS_MAX,
  refuse,
  type ManagementRefusal,
  type PricesSpec,
} from '@gateway/contracts/operator';

/**
 * What the least cost divides prompt bytes by (metering): the bytes that no more than one token is
 * expected to cover.
 */
const LEAST_COST_BYTES_PER_TOKEN = 8;

/** A price by the piece is quoted for so many: three more places would be parts of a nano-USD. */
const USES_PER_PRICE = 1_000n;

/**
 * Prices as an operator wrote them, in nano-USD, tiers by size. Refused are two tiers for one size,
 * too many units, and a price by the piece that is no whole number of nano-USD.
 */
export function figuresOf(spec: PricesSpec, param: 'prices' | 'costs'): PriceFigures | ManagementRefusal {
  for (const [path, { tiers = [] }] of [[param, spec] as const, ...classesOf(spec, `${param}.classes.`)]) {
    const sizes = tiers.map(({ aboveInputTokens }) => aboveInputTokens);
    const twice = sizes.find((size, index) => sizes.indexOf(size) !== index);
    if (twice !== undefined) return refuse('invalid_request', `two tiers begin above ${twice} tokens`, `${path}.tiers`);
  }
  const units = unitsOf(spec, `${param}.unitsPerThousand`);
  if (isRefusal(units)) return units;
  const figures = convertFigures({ ...inOrder(spec), perCall: spec.perCall ?? '0' }, parseUsd);
  return { ...figures, extras: extrasOf(spec, units) };
}

/** Null: there is nothing but tokens of the standard class. */
function extrasOf(spec: PricesSpec, units: Record<string, bigint>): PriceExtras | null {
  const classes = Object.fromEntries(classesOf(spec, '').map(([name, prices]) => [name, inOrder(prices)]));
  const kinds = {
    audioInput: spec.audioInputPerMillion ?? null,
    audioOutput: spec.audioOutputPerMillion ?? null,
    imageInput: spec.imageInputPerMillion ?? null,
    imageOutput: spec.imageOutputPerMillion ?? null,
  };
  const isEmpty = [classes, units].every((each) => Object.keys(each).length === 0);
  if (isEmpty && Object.values(kinds).every((price) => price === null)) return null;
  return { ...convertExtras({ classes, units: {}, kinds }, parseUsd), units };
}

type ClassSpec = NonNullable<NonNullable<PricesSpec['classes']>[ExtraClass]>;

function classesOf({ classes = {} }: PricesSpec, before: string): [string, ClassSpec][] {
  return EXTRA_CLASSES.flatMap((name) => {
    const prices = classes[name];
    return prices === undefined ? [] : [[`${before}${name}`, prices] satisfies [string, ClassSpec]];
  });
}

function inOrder<T extends { aboveInputTokens: number }, S extends { tiers?: T[] | undefined }>(spec: S) {
  return { ...spec, tiers: [...(spec.tiers ?? [])].sort((a, b) => a.aboveInputTokens - b.aboveInputTokens) };
}

/** By name, in nano-USD for one use. */
function unitsOf({ unitsPerThousand = {} }: PricesSpec, param: string): Record<string, bigint> | ManagementRefusal {
  const names = Object.keys(unitsPerThousand).sort();
  if (names.length > PRICE_UNITS_MAX) return refuse('invalid_request', `more than ${PRICE_UNITS_MAX} units`, param);
  const units: Record<string, bigint> = {};
  for (const name of names) {
    const ofThousand = parseUsd(unitsPerThousand[name] ?? '0');
    if (ofThousand % USES_PER_PRICE !== 0n)
      return refuse('invalid_request', 'a price of 1,000 uses has at most six places', `${param}.${name}`);
    units[name] = ofThousand / USES_PER_PRICE;
  }
  return units;
}

/**
 * Prices in the form in which they are put, without a time: put again they are the same figures.
 */
export function toSpec(figures: PriceFigures): PricesSpec {
  const { extras, ...prices } = convertFigures(figures, formatUsd);
  if (extras === null) return prices;
  const { classes, kinds } = extras;
  const units = Object.entries(figures.extras?.units ?? {});
  return {
    ...prices,
    classes,
    unitsPerThousand: Object.fromEntries(units.map(([unit, price]) => [unit, formatUsd(price * USES_PER_PRICE)])),
    audioInputPerMillion: kinds.audioInput,
    audioOutputPerMillion: kinds.audioOutput,
    imageInputPerMillion: kinds.imageInput,
    imageOutputPerMillion: kinds.imageOutput,
  };
}

/** Amounts as JSON integers; they are exact because none is above metering's largest amount. */
export function toWireFigures(figures: PriceFigures): WirePriceFigures {
  const { extras, ...prices } = convertFigures(figures, Number);
  return extras === null ? prices : { ...prices, extras };
}

/**
 * Equal figures, tiers in the same order; a null price differs from the same number written out.
 */
export function sameFigures(a: PriceFigures | null, b: PriceFigures | null): boolean {
  if (a === null || b === null) return a === b;
  return JSON.stringify(toWireFigures(a)) === JSON.stringify(toWireFigures(b));
}

/**
 * Whether the least cost of some call would exceed its worst case (metering's least cost takes 8
 * bytes per token and the cheapest input price of any tier; the worst case the model's bytes per
 * token and, for a short prompt, the dearest base price). No call of such a model could be judged.
 */
export function leastExceedsWorst(bytesPerToken: number, figures: PriceFigures): boolean {
  const cheapest = inputPrices(figures)
    .concat(figures.tiers.flatMap(inputPrices))
    .reduce((a, b) => (b < a ? b : a));
  const dearestBase = inputPrices(figures).reduce((a, b) => (b > a ? b : a));
  return (
    BigInt(Math.round(bytesPerToken * 1_000)) * cheapest > BigInt(LEAST_COST_BYTES_PER_TOKEN * 1_000) * dearestBase
  );
}

function inputPrices(prices: TokenPrices): bigint[] {
  const { inputPerMillion, cachedInputPerMillion, cacheWritePerMillion, cacheWrite1hPerMillion } = prices;
  return [
    inputPerMillion,
    ...[cachedInputPerMillion, cacheWritePerMillion, cacheWrite1hPerMillion].map((price) => price ?? inputPerMillion),
  ];
}
