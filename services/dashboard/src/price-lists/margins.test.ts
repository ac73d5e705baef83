import { expect, test } from '@jest/globals';
import { belowCost, figuresOf, leastMargin } from './margins.js';
import { dearestOf, markedUp } from './markup.js';
import type { Prices } from './prices.js';

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
])('%s', (_name, price, cost, below, margin) => {
  const figures = figuresOf(price, cost);
  expect(belowCost(figures).map(({ name }) => name)).toEqual(below);
  expect(leastMargin(figures)).toBe(margin);
});

test('a markup raises every figure, and is rounded up', () => {
  const costs: Prices = {
    ...COST,
    tiers: [TIER],
    perCall: '0.000000001',
    classes: { priority: COST },
    unitsPerThousand: { web_search: '0.000001' },
    audioInputPerMillion: '2',
  };
  const raised = { inputPerMillion: '1.20', cachedInputPerMillion: '0.12', outputPerMillion: '4.80' };
  expect(markedUp(costs, 2_000n)).toEqual({
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

test('the dearest of several sources covers calls of every size at each of them', () => {
  const one: Prices = { ...COST, tiers: [TIER], classes: { flex: COST }, unitsPerThousand: { a: '1', b: '2' } };
  const two: Prices = { inputPerMillion: '0.5', outputPerMillion: '7', perCall: '0.1', unitsPerThousand: { b: '3' } };
  const dearest = dearestOf([one, two]);
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
  expect([...figuresOf(dearest, one), ...figuresOf(dearest, two)].filter(({ price, cost }) => price < cost)).toEqual(
    [],
  );
});
