import {
  AMOUNT_NANO_USD_MAX,
  EXTRA_CLASSES,
  formatUsd,
  parseUsd,
  type ExtraClass,
  type ResolvedClass,
} from '@gateway/metering';
import { costOfClass, MEDIA_KINDS, resolveCharged, TIER_KINDS, type ChargedPrices } from './charged.js';
import { selectPrices, listSizes } from './margins.js';
import { normalizePrices, type Prices, type TieredPrices } from './prices.js';

const WHOLE = 10_000n;
/** A unit price has at most six decimal places per 1,000 uses, in nano-USD. */
const UNIT_STEP = 1_000n;
/** Most tiers that a document may have. */
const STANDARD_TIERS_MAX = 8;
const CLASS_TIERS_MAX = 2;

type TierKind = (typeof TIER_KINDS)[number];
/** Prices above an input size that a document must cover. */
type Amounts = { readonly [Kind in TierKind]: bigint };
interface SizedAmounts extends Amounts {
  readonly aboveInputTokens: number;
}

/**
 * Adds a markup in hundredths of a percent to costs, rounded up, at most the largest amount. Every
 * resolved price is at least the resolved cost with the markup: prices that would otherwise be
 * derived lower are stated.
 */
export function applyMarkup(costs: Pick<ChargedPrices, 'prices' | 'onMessages'>, hundredths: bigint): Prices {
  const raise = (amount: bigint): bigint => {
    const raised = roundedUp(amount * (WHOLE + hundredths), WHOLE);
    return raised > AMOUNT_NANO_USD_MAX ? AMOUNT_NANO_USD_MAX : raised;
  };
  const { unitsPerThousand = {}, ...others } = normalizePrices(costs.prices);
  const units = Object.entries(unitsPerThousand).map(([unit, text]) => [
    unit,
    formatUsd(roundedUp(parseUsd(text) * (WHOLE + hundredths), WHOLE * UNIT_STEP) * UNIT_STEP),
  ]);
  const raised = normalizePrices({
    ...(raisedTexts(others, raise) as Prices),
    unitsPerThousand: Object.fromEntries(units) as Record<string, string>,
  });
  const needed = resolveCharged(costs);
  const priced = resolveCharged({ ...costs, prices: raised });
  const isCovered = (['standard', ...EXTRA_CLASSES] as const).every((name) => {
    const [need, price] = [needed[name], priced[name]];
    return need === undefined || price === undefined || covers(price, need, raise);
  });
  if (isCovered) return raised;
  return normalizePrices({ ...raised, ...statePrices([{ ...costs, requestable: [] }], raise) });
}

function covers(price: ResolvedClass, need: ResolvedClass, raise: (amount: bigint) => bigint): boolean {
  return listSizes([price, need]).every((size) => {
    const [sold, cost] = [selectPrices(price, size), selectPrices(need, size)];
    return ALL_KINDS.every((kind) => sold[kind] >= raise(cost[kind]));
  });
}

const ALL_KINDS = [...TIER_KINDS, ...MEDIA_KINDS.map(([, kind]) => kind)] as const;

function roundedUp(amount: bigint, divisor: bigint): bigint {
  return (amount + divisor - 1n) / divisor;
}

function raisedTexts(value: unknown, raise: (amount: bigint) => bigint): unknown {
  if (typeof value === 'string') return formatUsd(raise(parseUsd(value)));
  if (Array.isArray(value)) return value.map((item) => raisedTexts(item, raise));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, raisedTexts(inner, raise)]));
}

/** Returns the highest figures of several sources, for requests of every size. */
export function computeHighestCosts(all: readonly [ChargedPrices, ...ChargedPrices[]]): Prices {
  const [first] = all;
  if (all.length === 1) return normalizePrices(first.prices);
  const units = all.flatMap(({ prices }) => Object.entries(prices.unitsPerThousand ?? {}));
  const most = (texts: readonly (string | undefined)[]): string | undefined =>
    texts.reduce((a, b) => (b === undefined || (a !== undefined && parseUsd(a) >= parseUsd(b)) ? a : b), undefined);
  return normalizePrices({
    ...statePrices(all, (amount) => amount),
    perCall: most(all.map(({ prices }) => prices.perCall)),
    unitsPerThousand: Object.fromEntries(
      units.map(([unit]) => [unit, most(units.flatMap(([name, text]) => (name === unit ? [text] : []))) ?? '0']),
    ),
  });
}

/** Returns token prices that cover each cost after `raise`, with every price stated. */
function statePrices(all: readonly ChargedPrices[], raise: (amount: bigint) => bigint): Prices {
  const resolved = all.map((one) => ({ costs: resolveCharged(one), requestable: one.requestable }));
  const media = MEDIA_KINDS.filter(([, kind]) =>
    all.some(({ prices }) => [prices, ...Object.values(prices.classes ?? {})].some((part) => part?.[kind] != null)),
  );
  const classes: Partial<Record<ExtraClass, TieredPrices>> = {};
  for (const name of EXTRA_CLASSES) {
    if (resolved.every(({ costs }) => costs[name] === undefined)) continue;
    const met = resolved.filter(({ costs, requestable }) => costs[name] !== undefined || requestable.includes(name));
    const ofClass = met.map(({ costs }) => costOfClass(costs, name));
    classes[name] = statedClass(amountsOf(ofClass, raise, CLASS_TIERS_MAX), media);
  }
  const standard = amountsOf(
    resolved.map(({ costs }) => costs.standard),
    raise,
    STANDARD_TIERS_MAX,
  );
  return { ...statedClass(standard, media), classes };
}

/** Returns the highest amounts above each size. Sizes beyond the bound share one tier. */
function amountsOf(
  all: readonly ResolvedClass[],
  raise: (amount: bigint) => bigint,
  tiersMax: number,
): readonly [SizedAmounts, ...SizedAmounts[]] {
  const sizes = listSizes(all);
  const at = (few: readonly number[]): SizedAmounts => {
    const reached = few.flatMap((size) => all.map((one) => selectPrices(one, size)));
    const highest = ALL_KINDS.map((kind) => {
      const most = reached.map((prices) => prices[kind]).reduce((a, b) => (b > a ? b : a));
      return [kind, raise(most)];
    });
    return { ...(Object.fromEntries(highest) as Amounts), aboveInputTokens: few[0] ?? 0 };
  };
  const tiers = sizes.slice(1);
  const last = tiers.slice(tiersMax - 1);
  return [at([0]), ...tiers.slice(0, tiersMax - 1).map((size) => at([size])), ...(last.length === 0 ? [] : [at(last)])];
}

/**
 * Converts amounts to the prices of a class. Tiers cannot state media prices, so those of the class
 * are high enough for all tiers.
 */
function statedClass(
  [base, ...given]: readonly [SizedAmounts, ...SizedAmounts[]],
  media: readonly (typeof MEDIA_KINDS)[number][],
): TieredPrices {
  const tiers: SizedAmounts[] = [];
  const own = new Map<TierKind, bigint>(media.map(([, kind]) => [kind, base[kind]]));
  for (const tier of given) {
    let amounts = tier;
    for (const [, kind, text] of media) {
      const least = leastBase(tier[kind], amounts[text], base[text]);
      // Raises the tier's text price to that of the class, so that the ratio is 1.
      if (least === null) amounts = { ...amounts, [text]: base[text] };
      const needed = least ?? tier[kind];
      if (needed > (own.get(kind) ?? 0n)) own.set(kind, needed);
    }
    tiers.push(amounts);
  }
  const texts = (amounts: Amounts) =>
    Object.fromEntries(TIER_KINDS.map((kind) => [kind, formatUsd(amounts[kind])])) as Record<TierKind, string>;
  return {
    ...texts(base),
    ...Object.fromEntries([...own].map(([kind, amount]) => [kind, formatUsd(amount)])),
    tiers: tiers.map((tier) => ({ aboveInputTokens: tier.aboveInputTokens, ...texts(tier) })),
  };
}

/**
 * Returns the lowest media price of a class from which at least `need` follows in a tier (half up,
 * as `resolvePrices` does); null: none within the largest amount.
 */
function leastBase(need: bigint, tierText: bigint, baseText: bigint): bigint | null {
  if (baseText === 0n) return tierText >= need ? 0n : need;
  if (need === 0n) return 0n;
  if (tierText === 0n) return null;
  const least = roundedUp(2n * need * baseText - baseText, 2n * tierText);
  return least > AMOUNT_NANO_USD_MAX ? null : least;
}
