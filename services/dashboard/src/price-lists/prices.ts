import { pricesSpec } from '@gateway/contracts/operator';
import { EXTRA_CLASSES, formatUsd, parseUsd } from '@gateway/metering';
import type { z } from 'zod';

/** All prices or costs of a model that a list or the catalog can have, in USD. */
export const prices = pricesSpec.omit({ effectiveFrom: true });
export type Prices = z.infer<typeof prices>;
type Tier = NonNullable<Prices['tiers']>[number];
export type TokenPrices = Omit<Tier, 'aboveInputTokens'>;
export type ExtraClass = keyof NonNullable<Prices['classes']>;
/** Token prices of a class with their long-context tiers. */
export type TieredPrices = NonNullable<NonNullable<Prices['classes']>[ExtraClass]>;

/** Normalizes prices: without empty fields, and with the shortest form of each amount. */
export function normalizePrices(given: Prices): Prices {
  return shorten(prices.parse(given), '') as Prices;
}

/** Normalizes figures from an external source; null: invalid prices. */
export function normalizeOrNull(given: Prices): Prices | null {
  return prices.safeParse(given).success ? normalizePrices(given) : null;
}

function shorten(value: unknown, name: string): unknown {
  if (typeof value === 'string') {
    const text = formatUsd(parseUsd(value));
    return name === 'perCall' && parseUsd(text) === 0n ? undefined : text;
  }
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => shorten(item, ''));
  if (typeof value !== 'object' || value === null) return value ?? undefined;
  const entries = Object.entries(value)
    .map(([key, inner]): [string, unknown] => [key, shorten(inner, key)])
    .filter(([, inner]) => inner !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/**
 * Merges a list's costs into those of a source. Token prices of the standard class, and of each
 * class in the list, come from the list. Figures that the list lacks are kept: 1-hour cache writes,
 * prices per call and unit, other classes, audio and images.
 */
export function mergeCosts(now: Prices | null, listed: Prices): Prices {
  if (now === null) return normalizePrices(listed);
  const [before, next] = [normalizePrices(now), normalizePrices(listed)];
  const classes = { ...before.classes };
  for (const name of EXTRA_CLASSES) {
    const ofClass = next.classes?.[name];
    if (ofClass !== undefined) classes[name] = { ...omitReplaced(before.classes?.[name] ?? {}), ...ofClass };
  }
  return normalizePrices({
    ...omitReplaced(before),
    ...next,
    classes,
    unitsPerThousand: { ...before.unitsPerThousand, ...next.unitsPerThousand },
  });
}

/** Removes the figures that a list always replaces. */
function omitReplaced<T extends Partial<TieredPrices>>(part: T) {
  const { tiers: _tiers, cachedInputPerMillion: _cached, cacheWritePerMillion: _write, ...others } = part;
  return others;
}

const WORDS: Readonly<Record<string, string>> = {
  inputPerMillion: 'input',
  cachedInputPerMillion: 'cached input',
  cacheWritePerMillion: 'cache write',
  cacheWrite1hPerMillion: 'cache write for an hour',
  outputPerMillion: 'output',
  perCall: 'per call',
  audioInputPerMillion: 'audio input',
  audioOutputPerMillion: 'audio output',
  imageInputPerMillion: 'image input',
  imageOutputPerMillion: 'image output',
};

/** Returns the figures by name, such as `priority output above 272000`. */
export function figuresByName(given: Prices): Map<string, string> {
  const { classes = {}, unitsPerThousand = {}, ...standard } = normalizePrices(given);
  const found = new Map<string, string>(flat(standard, ''));
  for (const [name, ofClass] of Object.entries(classes)) {
    if (ofClass === undefined) continue;
    for (const [figure, text] of flat(ofClass, `${name} `)) found.set(figure, text);
  }
  for (const [unit, text] of Object.entries(unitsPerThousand)) found.set(`1,000 ${unit}`, text);
  return found;
}

function flat({ tiers = [], ...figures }: TieredPrices, before: string): [string, string][] {
  const named = (from: object, after: string): [string, string][] =>
    Object.entries(from).flatMap(([name, text]): [string, string][] =>
      WORDS[name] === undefined || typeof text !== 'string' ? [] : [[`${before}${WORDS[name]}${after}`, text]],
    );
  return [...named(figures, ''), ...tiers.flatMap((one) => named(one, ` above ${one.aboveInputTokens}`))];
}

/** Returns whether both have the same figures, regardless of order and spelling. */
export function samePrices(a: Prices | null, b: Prices | null): boolean {
  return differences(a, b).length === 0;
}

export interface Difference {
  readonly name: string;
  /** Null: the figure was not, or will not be, stated. */
  readonly before: string | null;
  readonly after: string | null;
}

export function differences(before: Prices | null, after: Prices | null): Difference[] {
  const [old, next] = [before, after].map((one) => (one === null ? new Map<string, string>() : figuresByName(one)));
  const names = new Set([...(old?.keys() ?? []), ...(next?.keys() ?? [])]);
  return [...names]
    .map((name) => ({ name, before: old?.get(name) ?? null, after: next?.get(name) ?? null }))
    .filter((one) => one.before !== one.after);
}
