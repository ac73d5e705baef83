import { expect, test } from '@jest/globals';
import { pricesSpec } from '@gateway/contracts/operator';
import { parseUsd } from '@gateway/metering';
import { DEMO_MODELS, costsOf, demoSource } from './demo-catalog.js';
import { findDemoModel, type OperatorRequest } from './seed-demo.js';

const RUNNING = 'http://127.0.0.1:9001';
const FIRST = DEMO_MODELS[0]?.id ?? '';
const MODEL = { kind: 'chat', active: true, available: true, prices: { inputPerMillion: '1', outputPerMillion: '2' } };
const SOURCE = { enabled: true, hasCredential: true, baseUrl: RUNNING };

/** An operator API in which `model` and `source` change the first demo model; null deletes. */
function operatorWith(model: object | null, source: object | null): OperatorRequest {
  return async <T>(_method: string, path: string) => {
    const isModel = path.startsWith('/models/');
    const isFirst = isModel
      ? path === `/models/${encodeURIComponent(FIRST)}`
      : path.startsWith(`/sources/${FIRST.replace('/', '-')}-`);
    const changed = isModel ? model : source;
    const object = isModel ? MODEL : SOURCE;
    return (isFirst ? changed && { ...object, ...changed } : object) as T;
  };
}

test.each<[string, object | null, object | null]>([
  ['was deleted', null, {}],
  ['is no chat model', { kind: 'embedding' }, {}],
  ['is hidden', { active: false }, {}],
  ['is switched off', { available: false }, {}],
  ['has no price', { prices: null }, {}],
  ['has no source', {}, null],
  ['has a source that is switched off', {}, { enabled: false }],
  ['has a source without a credential', {}, { hasCredential: false }],
  ['is served from an address where nothing runs', {}, { baseUrl: 'http://127.0.0.1:1' }],
])('findDemoModel() returns no model that %s', async (_, model, source) => {
  const running = { providerUrls: [RUNNING] };
  expect(await findDemoModel(operatorWith({}, {}), running)).toBe(FIRST);
  expect(await findDemoModel(operatorWith(model, source), running)).toBe(DEMO_MODELS[1]?.id);
  expect(await findDemoModel(operatorWith({}, {}), { providerUrls: ['http://127.0.0.1:1'] })).toBeNull();
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
