import {
  convertFigures,
  formatUsd,
  parseUsd,
  resolvePrices,
  type PriceFigures,
  type ResolvedPrices,
} from '@gateway/metering';
import type { Endpoint, WirePriceFigures } from '@gateway/contracts/messages';
import {
  classSpecs,
  figuresFromSpec,
  PRICE_UNITS_MAX,
  refuse,
  USES_PER_PRICE,
  type ManagementRefusal,
  type PricesSpec,
} from '@gateway/contracts/operator';

/**
 * Prompt bytes per token in metering's least cost. A token is expected to cover at most this many
 * bytes.
 */
const LEAST_COST_BYTES_PER_TOKEN = 8;

export const MESSAGES: Endpoint = '/v1/messages';

/**
 * Converts an operator's prices to nano-USD with tiers sorted by size. Refuses two tiers of one
 * size, too many units, and a unit price that is not a whole number of nano-USD.
 */
export function figuresOf(spec: PricesSpec, param: 'prices' | 'costs'): PriceFigures | ManagementRefusal {
  const parts = classSpecs(spec).map(([name, prices]) => [`${param}.classes.${name}`, prices] as const);
  for (const [path, { tiers = [] }] of [[param, spec] as const, ...parts]) {
    const sizes = tiers.map(({ aboveInputTokens }) => aboveInputTokens);
    const twice = sizes.find((size, index) => sizes.indexOf(size) !== index);
    if (twice !== undefined) return refuse('invalid_request', `two tiers begin above ${twice} tokens`, `${path}.tiers`);
  }
  return unfitUnits(spec, `${param}.unitsPerThousand`) ?? figuresFromSpec(spec);
}

function unfitUnits({ unitsPerThousand = {} }: PricesSpec, param: string): ManagementRefusal | null {
  const units = Object.entries(unitsPerThousand);
  if (units.length > PRICE_UNITS_MAX) return refuse('invalid_request', `more than ${PRICE_UNITS_MAX} units`, param);
  const broken = units.find(([, ofThousand]) => parseUsd(ofThousand) % USES_PER_PRICE !== 0n);
  if (broken === undefined) return null;
  return refuse('invalid_request', 'a price per 1,000 uses has at most six decimal places', `${param}.${broken[0]}`);
}

/** Converts prices to the form of a PUT, without a time. A PUT of them changes nothing. */
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

function kindsSpec(kinds: Record<'audioInput' | 'audioOutput' | 'imageInput' | 'imageOutput', string | null>) {
  return {
    audioInputPerMillion: kinds.audioInput,
    audioOutputPerMillion: kinds.audioOutput,
    imageInputPerMillion: kinds.imageInput,
    imageOutputPerMillion: kinds.imageOutput,
  };
}

/** Converts amounts to JSON integers. They are exact because none exceeds metering's maximum. */
export function toWireFigures(figures: PriceFigures): WirePriceFigures {
  const { extras, ...prices } = convertFigures(figures, Number);
  return extras === null ? prices : { ...prices, extras };
}

/**
 * Whether the figures are equal, with tiers in the same order. A null price differs from an equal
 * explicit price.
 */
export function sameFigures(a: PriceFigures | null, b: PriceFigures | null): boolean {
  if (a === null || b === null) return a === b;
  return JSON.stringify(toWireFigures(a)) === JSON.stringify(toWireFigures(b));
}

/**
 * Whether the least cost of some call could exceed its worst case. Metering computes the least cost
 * with 8 bytes per token and the lowest input price of any tier. It computes the worst case with
 * the model's bytes per token and, for a short prompt, the highest base price. Such a model could
 * not be checked against limits.
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

/** Whether a source with these endpoints serves the messages format. */
export function hasMessagesEndpoint(sources: readonly { readonly endpoints: readonly string[] }[]): boolean {
  return sources.some(({ endpoints }) => endpoints.includes(MESSAGES));
}
