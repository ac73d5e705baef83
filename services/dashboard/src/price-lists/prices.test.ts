import { expect, test } from '@jest/globals';
import { differences, mergeCosts, normalizePrices, samePrices, type Prices } from './prices.js';

const BASE: Prices = { inputPerMillion: '1', outputPerMillion: '2' };

test('samePrices() ignores null, empty tiers, zero per call and other spellings', () => {
  const spelled: Prices = {
    ...BASE,
    inputPerMillion: '1.000',
    cachedInputPerMillion: null,
    perCall: '0.00',
    tiers: [],
  };
  expect(samePrices(BASE, spelled)).toBe(true);
  expect(normalizePrices(spelled)).toEqual({ inputPerMillion: '1.00', outputPerMillion: '2.00' });
  expect(samePrices(null, BASE)).toBe(false);
});

test('differences are named figure by figure', () => {
  const tiers = [{ aboveInputTokens: 200_000, inputPerMillion: '2', outputPerMillion: '4' }];
  const after: Prices = { ...BASE, inputPerMillion: '1.5', tiers, classes: { priority: BASE } };
  expect(differences(BASE, after)).toEqual([
    { name: 'input', before: '1.00', after: '1.50' },
    { name: 'input above 200000', before: null, after: '2.00' },
    { name: 'output above 200000', before: null, after: '4.00' },
    { name: 'priority input', before: null, after: '1.00' },
    { name: 'priority output', before: null, after: '2.00' },
  ]);
});

test('mergeCosts() replaces token prices and keeps what the list lacks', () => {
  const now: Prices = {
    ...BASE,
    cachedInputPerMillion: '0.1',
    cacheWrite1hPerMillion: '2',
    tiers: [{ aboveInputTokens: 100_000, ...BASE }],
    perCall: '0.01',
    classes: {
      flex: BASE,
      priority: { ...BASE, cachedInputPerMillion: '0.1', cacheWrite1hPerMillion: '4', audioInputPerMillion: '9' },
    },
    unitsPerThousand: { web_search: '10' },
  };
  const dearer = { inputPerMillion: '3', outputPerMillion: '6' };
  expect(mergeCosts(now, { ...dearer, classes: { priority: dearer } })).toEqual(
    normalizePrices({
      ...dearer,
      cacheWrite1hPerMillion: '2',
      perCall: '0.01',
      classes: { flex: BASE, priority: { ...dearer, cacheWrite1hPerMillion: '4', audioInputPerMillion: '9' } },
      unitsPerThousand: { web_search: '10' },
    }),
  );
  expect(mergeCosts(null, dearer)).toEqual(normalizePrices(dearer));
});

test('plain() omits null', () => {
  expect(normalizePrices({ ...BASE, cachedInputPerMillion: null })).toEqual({
    inputPerMillion: '1.00',
    outputPerMillion: '2.00',
  });
});
