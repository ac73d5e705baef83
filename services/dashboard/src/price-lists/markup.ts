import { formatUsd, parseUsd } from '@gateway/metering';
import { amountOf, pricesAbove, sizesOf } from './margins.js';
import { plain, type ExtraClass, type Prices, type TieredPrices, type TokenPrices } from './prices.js';

const WHOLE = 10_000n;
/** A price by use has at most six places for 1,000 uses, in nano-USD. */
const UNIT_STEP = 1_000n;

/** Costs with so many hundredths of a percent added, rounded up. */
export function markedUp(costs: Prices, hundredths: bigint): Prices {
  const raise = (text: string, step = 1n): string => {
    const exact = parseUsd(text) * (WHOLE + hundredths);
    return formatUsd(roundedUp(exact, WHOLE * step) * step);
  };
  const { unitsPerThousand = {}, ...others } = plain(costs);
  const units = Object.entries(unitsPerThousand).map(([unit, text]) => [unit, raise(text, UNIT_STEP)]);
  return plain({ ...(raised(others, raise) as Prices), unitsPerThousand: Object.fromEntries(units) });
}

function roundedUp(amount: bigint, divisor: bigint): bigint {
  return (amount + divisor - 1n) / divisor;
}

function raised(value: unknown, raise: (text: string) => string): unknown {
  if (typeof value === 'string') return raise(value);
  if (Array.isArray(value)) return value.map((item) => raised(item, raise));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, raised(inner, raise)]));
}

/** The dearest figures of several sources, of calls of every size: what a price must cover. */
export function dearestOf(all: readonly [Prices, ...Prices[]]): Prices {
  const [first] = all;
  if (all.length === 1) return plain(first);
  const classes: Partial<Record<ExtraClass, TieredPrices>> = {};
  for (const name of ['priority', 'flex', 'fast'] as const) {
    const having = all.flatMap(({ classes: own }) => own?.[name] ?? []);
    if (having.length > 0) classes[name] = dearestTokens(having);
  }
  const units = all.flatMap(({ unitsPerThousand }) => Object.entries(unitsPerThousand ?? {}));
  const most = (texts: readonly (string | null | undefined)[]): string | undefined =>
    texts.reduce<string | undefined>(
      (a, b) => (b == null || (a !== undefined && parseUsd(a) >= parseUsd(b)) ? a : b),
      undefined,
    );
  return plain({
    ...dearestTokens(all),
    perCall: most(all.map(({ perCall }) => perCall)),
    classes,
    unitsPerThousand: Object.fromEntries(
      units.map(([unit]) => [unit, most(units.flatMap(([name, text]) => (name === unit ? [text] : []))) ?? '0']),
    ),
    audioInputPerMillion: most(all.map((one) => one.audioInputPerMillion)),
    audioOutputPerMillion: most(all.map((one) => one.audioOutputPerMillion)),
    imageInputPerMillion: most(all.map((one) => one.imageInputPerMillion)),
    imageOutputPerMillion: most(all.map((one) => one.imageOutputPerMillion)),
  });
}

function dearestTokens(all: readonly TieredPrices[]): TieredPrices {
  const at = (size: number): TokenPrices => {
    const reached = all.map((one) => pricesAbove(one, size));
    const most = (field: Parameters<typeof amountOf>[1]): string =>
      reached.map((one) => amountOf(one, field)).reduce((a, b) => (parseUsd(b) > parseUsd(a) ? b : a));
    return {
      inputPerMillion: most('inputPerMillion'),
      cachedInputPerMillion: most('cachedInputPerMillion'),
      cacheWritePerMillion: most('cacheWritePerMillion'),
      cacheWrite1hPerMillion: most('cacheWrite1hPerMillion'),
      outputPerMillion: most('outputPerMillion'),
    };
  };
  const sizes = sizesOf(all).filter((size) => size > 0);
  return { ...at(0), tiers: sizes.map((aboveInputTokens) => ({ aboveInputTokens, ...at(aboveInputTokens) })) };
}
