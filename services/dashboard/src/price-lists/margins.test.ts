import { expect, test } from '@jest/globals';
import {
  AMOUNT_NANO_USD_MAX,
  EXTRA_CLASSES,
  parseUsd,
  type ResolvedClass,
  type ResolvedFigures,
  type ResolvedPrices,
} from '@gateway/metering';
import fc from 'fast-check';
import { priceDocument } from '../../test/price-documents.js';
import { resolveCharged, type ChargedPrices } from './charged.js';
import { completeCosts } from './complete-costs.js';
import { findBelowCost, compareFigures, computeLeastMargin } from './margins.js';
import { computeHighestCosts, applyMarkup } from './markup.js';
import type { Prices } from './prices.js';

const charged = (prices: Prices, more: Partial<ChargedPrices> = {}): ChargedPrices => ({
  prices,
  onMessages: false,
  requestable: [],
  ...more,
});
const COST: Prices = { inputPerMillion: '1', cachedInputPerMillion: '0.1', outputPerMillion: '4' };
const PRICE: Prices = { inputPerMillion: '2', cachedInputPerMillion: '0.2', outputPerMillion: '5' };
const TIER = { aboveInputTokens: 200_000, inputPerMillion: '3', cachedInputPerMillion: '0.3', outputPerMillion: '8' };
const OTHER = { aboveInputTokens: 100_000, inputPerMillion: '3', cachedInputPerMillion: '0.2', outputPerMillion: '6' };

test.each<[string, Prices, Prices, string[], number | null]>([
  ['all above cost', PRICE, COST, [], 200],
  ['sold at cost', COST, COST, [], 0],
  ['output below', { ...PRICE, outputPerMillion: '3.999999999' }, COST, ['output'], 0],
  ['a third below', { ...PRICE, outputPerMillion: '3' }, COST, ['output'], -333],
  ['sold for nothing', { ...PRICE, outputPerMillion: '0' }, COST, ['output'], null],
  ['nothing is sold and costs', { ...PRICE, outputPerMillion: '0' }, { ...COST, outputPerMillion: '0' }, [], 500],
  ['without a cached price, cached counts as input', { ...PRICE, cachedInputPerMillion: null }, COST, [], 200],
  ['without a cached cost too', PRICE, { ...COST, cachedInputPerMillion: null }, ['cached input'], -4_000],
  [
    'a tier that is not passed on',
    PRICE,
    { ...COST, tiers: [TIER] },
    ['input', 'cached input', 'output'].map((name) => `${name} above 200000`),
    -600,
  ],
  [
    'tiers of different sizes',
    { ...PRICE, tiers: [OTHER] },
    { ...COST, tiers: [TIER] },
    ['cached input above 200000', 'output above 200000'],
    -500,
  ],
  ['calls', { ...PRICE, perCall: '0.01' }, { ...COST, perCall: '0.02' }, ['per call'], -1_000],
  [
    'a class',
    { ...PRICE, classes: { flex: COST } },
    { ...COST, classes: { flex: PRICE } },
    ['input', 'cached input', 'output'].map((name) => `flex ${name}`),
    -1_000,
  ],
  ['a class that is not sold', PRICE, { ...COST, classes: { priority: TIER } }, [], 200],
  [
    'uses',
    { ...PRICE, unitsPerThousand: { web_search: '9' } },
    { ...COST, unitsPerThousand: { web_search: '10', other: '1' } },
    ['1,000 web_search'],
    -111,
  ],
  ['audio that is sold as text', PRICE, { ...COST, audioInputPerMillion: '2.1' }, ['audio input'], -50],
])('margins when %s', (_name, price, cost, below, margin) => {
  const figures = compareFigures(charged(price), charged(cost));
  expect(findBelowCost(figures).map(({ name }) => name)).toEqual(below);
  expect(computeLeastMargin(figures)).toBe(margin);
});

test('a markup raises every figure and rounds up', () => {
  const costs: Prices = {
    ...COST,
    tiers: [TIER],
    perCall: '0.000000001',
    classes: { priority: COST },
    unitsPerThousand: { web_search: '0.000001' },
    audioInputPerMillion: '2',
  };
  const raised = { inputPerMillion: '1.20', cachedInputPerMillion: '0.12', outputPerMillion: '4.80' };
  expect(applyMarkup(charged(costs), 2_000n)).toEqual({
    ...raised,
    tiers: [
      { aboveInputTokens: 200_000, inputPerMillion: '3.60', cachedInputPerMillion: '0.36', outputPerMillion: '9.60' },
    ],
    perCall: '0.000000002',
    classes: { priority: raised },
    unitsPerThousand: { web_search: '0.000002' },
    audioInputPerMillion: '2.40',
  });
});

test('the highest figures of several sources cover requests of every size', () => {
  const one: Prices = { ...COST, tiers: [TIER], classes: { flex: COST }, unitsPerThousand: { a: '1', b: '2' } };
  const two: Prices = { inputPerMillion: '0.5', outputPerMillion: '7', perCall: '0.1', unitsPerThousand: { b: '3' } };
  const dearest = computeHighestCosts([charged(one), charged(two)]);
  expect(dearest).toMatchObject({
    inputPerMillion: '1.00',
    cachedInputPerMillion: '0.50',
    outputPerMillion: '7.00',
    perCall: '0.10',
    tiers: [
      { aboveInputTokens: 200_000, inputPerMillion: '3.00', cachedInputPerMillion: '0.50', outputPerMillion: '8.00' },
    ],
    unitsPerThousand: { a: '1.00', b: '3.00' },
  });
  const figures = [one, two].flatMap((cost) => compareFigures(charged(dearest), charged(cost)));
  expect(findBelowCost(figures)).toEqual([]);
});

test('figuresOf() reports audio of a class and of its tiers below cost', () => {
  const flex = { ...COST, audioInputPerMillion: '3', tiers: [{ ...TIER, inputPerMillion: '2' }] };
  const figures = compareFigures(
    charged({ ...PRICE, classes: { flex: { ...PRICE, tiers: [TIER] } } }),
    charged({ ...COST, classes: { flex } }),
  );
  expect(findBelowCost(figures)).toEqual([
    { name: 'flex audio input', price: parseUsd('2'), cost: parseUsd('3') },
    { name: 'flex audio input above 200000', price: parseUsd('3'), cost: parseUsd('6') },
  ]);
});

test.each<[string, Partial<ChargedPrices>, string[]]>([
  ['a source that can be asked for it', { requestable: ['flex'] }, ['flex input', 'flex cached input', 'flex output']],
  ['a source that cannot be asked for it', {}, []],
])('figuresOf() compares a class without costs at %s', (_name, more, below) => {
  const figures = compareFigures(
    charged({ ...PRICE, classes: { flex: { inputPerMillion: '0.5', outputPerMillion: '2' } } }),
    charged(COST, more),
  );
  expect(findBelowCost(figures).map(({ name }) => name)).toEqual(below);
});

test('figuresOf() compares 1-hour writes at twice the input on the messages format', () => {
  const [price, cost] = [{ ...PRICE, cacheWrite1hPerMillion: '1.9' }, COST];
  const below = (onMessages: boolean) =>
    findBelowCost(compareFigures(charged(price, { onMessages }), charged(cost, { onMessages }))).map(
      ({ name }) => name,
    );
  expect([below(true), below(false)]).toEqual([['cache write for an hour'], []]);
});

type Kind = keyof ResolvedPrices;
const CLASSES = ['standard', ...EXTRA_CLASSES] as const;

/**
 * Calls `visit` for each class that is priced and can be requested at the source, for each size and
 * kind.
 */
function eachCharge(
  [price, cost, requestable]: [ResolvedFigures, ResolvedFigures, readonly string[]],
  visit: (price: bigint, cost: bigint, place: string) => void,
): void {
  for (const name of CLASSES) {
    const [sold, bought] = [price[name], cost[name] ?? (requestable.includes(name) ? cost.standard : undefined)];
    if (sold === undefined || bought === undefined) continue;
    const sizes = [...sold.tiers, ...bought.tiers].map(({ aboveInputTokens }) => aboveInputTokens);
    for (const tokens of [0, ...sizes, ...sizes.map((size) => size + 1)]) {
      const at = (prices: ResolvedClass): ResolvedPrices =>
        prices.tiers.findLast(({ aboveInputTokens }) => tokens > aboveInputTokens) ?? prices;
      const [one, other] = [at(sold), at(bought)];
      for (const kind of Object.keys(sold) as (Kind | 'tiers')[])
        if (kind !== 'tiers') visit(one[kind], other[kind], `${name} ${kind} of ${tokens}`);
    }
  }
}

const source = fc.record({
  prices: priceDocument,
  onMessages: fc.boolean(),
  requestable: fc.subarray([...EXTRA_CLASSES]),
});

test('a proposed price covers every possible cost of a request with the markup', () => {
  fc.assert(
    fc.property(source, fc.array(source, { maxLength: 2 }), fc.bigInt(0n, 999_999n), (first, others, markup) => {
      const sources = [first, ...others];
      const onMessages = sources.some((one) => one.onMessages);
      const prices = applyMarkup({ prices: computeHighestCosts([first, ...others]), onMessages }, markup);
      const price = charged(prices, { onMessages });
      for (const cost of sources) {
        const short: string[] = [];
        eachCharge([resolveCharged(price), resolveCharged(cost), cost.requestable], (sold, bought, place) => {
          if (sold < AMOUNT_NANO_USD_MAX && sold * 10_000n < bought * (10_000n + markup))
            short.push(`${place}: ${sold} < ${bought}`);
        });
        expect(short).toEqual([]);
        expect(findBelowCost(compareFigures(price, cost))).toEqual([]);
        // The price includes every class, unit and per-request cost of a source.
        for (const name of Object.keys(cost.prices.classes ?? {})) expect(prices.classes).toHaveProperty(name);
        for (const unit of Object.keys(cost.prices.unitsPerThousand ?? {})) {
          const [sold = '0', bought = '0'] = [prices, cost.prices].map((one) => one.unitsPerThousand?.[unit]);
          expect(parseUsd(sold) * 10_000n).toBeGreaterThanOrEqual(parseUsd(bought) * (10_000n + markup));
        }
      }
    }),
  );
});

test('figures below cost are reported exactly when a resolved price is under its cost', () => {
  fc.assert(
    fc.property(priceDocument, source, fc.boolean(), (prices, cost, isOnMessages) => {
      const price = charged(prices, { onMessages: cost.onMessages || isOnMessages });
      let isBelow = parseUsd(prices.perCall ?? '0') < parseUsd(cost.prices.perCall ?? '0');
      for (const [unit, text] of Object.entries(prices.unitsPerThousand ?? {}))
        isBelow ||= parseUsd(text) < parseUsd(cost.prices.unitsPerThousand?.[unit] ?? '0');
      eachCharge(
        [resolveCharged(price), resolveCharged(cost), cost.requestable],
        (sold, bought) => (isBelow ||= sold < bought),
      );
      expect(findBelowCost(compareFigures(price, cost)).length > 0).toBe(isBelow);
    }),
  );
});

test('completeCosts() states token prices as charges derive them', () => {
  fc.assert(
    fc.property(priceDocument, fc.boolean(), (prices, isMessages) => {
      const { costs } = completeCosts(prices, { isMessages });
      const [before, after] = [prices, costs].map((each) => resolveCharged(charged(each, { onMessages: isMessages })));
      if (before === undefined || after === undefined) throw new Error();
      eachCharge([after, before, []], (stated, derived, place) => {
        // Media prices of a tier follow from those of its class, which are rounded when stated.
        if (!/(audio|image)\w+ of [1-9]/.test(place)) expect([place, stated]).toEqual([place, derived]);
      });
    }),
  );
});
