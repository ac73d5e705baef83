import { expect, test } from '@jest/globals';
import { pricesSpec } from '@gateway/contracts/operator';
import { parseUsd } from '@gateway/metering';
import { DEMO_MODELS, costsOf, demoSource } from './demo-catalog.js';
import { firstModel, type DemoModelState } from './seed-demo.js';

const RUNNING = 'http://127.0.0.1:9001';
const PRICES = { inputPerMillion: '1', outputPerMillion: '2' };

function now(id: string, model: object = {}, source: object = {}): DemoModelState {
  return {
    model: { id, kind: 'chat', active: true, available: true, prices: PRICES, ...model },
    sources: [{ enabled: true, hasCredential: true, baseUrl: RUNNING, ...source }],
  };
}

test.each<[string, DemoModelState]>([
  ['was deleted', { model: null, sources: [] }],
  ['is no chat model', now('a', { kind: 'embedding' })],
  ['is hidden', now('a', { active: false })],
  ['is switched off', now('a', { available: false })],
  ['has no price', now('a', { prices: null })],
  ['has no source', { ...now('a'), sources: [] }],
  ['has a source that is switched off', now('a', {}, { enabled: false })],
  ['has a source without a credential', now('a', {}, { hasCredential: false })],
  ['is served from an address where nothing runs', now('a', {}, { baseUrl: 'http://127.0.0.1:1' })],
])('firstModel() returns no model that %s', (_, model) => {
  expect(firstModel([model, now('b')], [RUNNING])).toBe('b');
  expect(firstModel([model], [RUNNING])).toBeNull();
});

test('every demo source has costs below the prices', () => {
  for (const model of DEMO_MODELS) {
    const { costs } = demoSource(model, 0, RUNNING);
    expect(pricesSpec.safeParse(costs).success).toBe(true);
    if (!model.spec.prices) continue;
    expect(parseUsd(costs?.inputPerMillion ?? '')).toBeLessThan(parseUsd(model.spec.prices.inputPerMillion));
  }
});

test('costsOf() is a share of each price with tiers, exact to the nano-dollar', () => {
  const prices = { inputPerMillion: '0.075', outputPerMillion: '10', perCall: '0.01' };
  const tiers = [{ aboveInputTokens: 200_000, inputPerMillion: '6', outputPerMillion: '22.5' }];
  expect(costsOf({ ...prices, tiers }, 85)).toEqual({
    inputPerMillion: '0.06375',
    outputPerMillion: '8.50',
    tiers: [{ aboveInputTokens: 200_000, inputPerMillion: '5.10', outputPerMillion: '19.125' }],
  });
});

test('demo models with one-hour cache writes have a price for them', () => {
  for (const { id, spec } of DEMO_MODELS.filter(({ provider }) => provider === 'anthropic'))
    expect([id, spec.prices?.cacheWrite1hPerMillion]).toEqual([id, expect.any(String)]);
});
