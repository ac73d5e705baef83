import {
  convertExtras,
  convertFigures,
  EXTRA_CLASSES,
  formatUsd,
  parseUsd,
  resolvePrices,
  type ExtraClass,
  type PriceExtras,
  type PriceFigures,
  type ResolvedPrices,
} from '@gateway/metering';
import type { Endpoint, WirePriceFigures } from '@gateway/contracts/messages';
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

export const MESSAGES: Endpoint = '/v1/messages';

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
  const classes = Object.fromEntries(
    classesOf(spec, '').map(([name, prices]) => {
      const kinds = kindsOf(prices);
      return [name, isStated(kinds) ? { ...inOrder(prices), kinds } : inOrder(prices)];
    }),
  );
  const kinds = kindsOf(spec);
  const isEmpty = [classes, units].every((each) => Object.keys(each).length === 0);
  if (isEmpty && !isStated(kinds)) return null;
  return { ...convertExtras({ classes, units: {}, kinds }, parseUsd), units };
}

type Kinds = Record<'audioInput' | 'audioOutput' | 'imageInput' | 'imageOutput', string | null>;

function kindsOf(spec: PricesSpec | ClassSpec): Kinds {
  return {
    audioInput: spec.audioInputPerMillion ?? null,
    audioOutput: spec.audioOutputPerMillion ?? null,
    imageInput: spec.imageInputPerMillion ?? null,
    imageOutput: spec.imageOutputPerMillion ?? null,
  };
}

const isStated = (kinds: Kinds): boolean => Object.values(kinds).some((price) => price !== null);

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
  const units = Object.entries(figures.extras?.units ?? {});
  const classes = Object.entries(extras.classes).map(([name, { kinds, ...ofClass }]) => [
    name,
    kinds === undefined ? ofClass : { ...ofClass, ...kindsSpec(kinds) },
  ]);
  return {
    ...prices,
    classes: Object.fromEntries(classes) as PricesSpec['classes'],
    unitsPerThousand: Object.fromEntries(units.map(([unit, price]) => [unit, formatUsd(price * USES_PER_PRICE)])),
    ...kindsSpec(extras.kinds),
  };
}

function kindsSpec(kinds: Kinds) {
  return {
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
  const { standard } = resolvePrices(figures);
  const cheapest = inputPrices(standard)
    .concat(standard.tiers.flatMap(inputPrices))
    .reduce((a, b) => (b < a ? b : a));
  const dearestBase = inputPrices(standard).reduce((a, b) => (b > a ? b : a));
  return (
    BigInt(Math.round(bytesPerToken * 1_000)) * cheapest > BigInt(LEAST_COST_BYTES_PER_TOKEN * 1_000) * dearestBase
  );
}

function inputPrices(prices: ResolvedPrices): bigint[] {
  const { inputPerMillion, cachedInputPerMillion, cacheWritePerMillion, cacheWrite1hPerMillion } = prices;
  return [inputPerMillion, cachedInputPerMillion, cacheWritePerMillion, cacheWrite1hPerMillion];
}

/** Whether sources with these endpoints speak the messages format. */
export function speakMessages(sources: readonly { readonly endpoints: readonly string[] }[]): boolean {
  return sources.some(({ endpoints }) => endpoints.includes(MESSAGES));
}
