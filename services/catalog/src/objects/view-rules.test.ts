import { expect, test } from '@jest/globals';
import {
  modelSpec as modelSchema,
  modelView,
  providerView,
  sourceSpec as sourceSchema,
  sourceView,
} from '@gateway/contracts/operator';
import { modelSpec, PLACE, PROVIDER, sourceSpec } from '../../test/specs.js';
import { figuresOf } from './price-rules.js';
import { modelOf, sourceOf } from './spec-rules.js';
import type { DatedFigures } from './rules.js';
import { modelViewOf, providerViewOf, sourceViewOf } from './view-rules.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const PRICES = {
  inputPerMillion: '2.50',
  cachedInputPerMillion: null,
  cacheWritePerMillion: '0.000000001',
  cacheWrite1hPerMillion: '9000000.00',
  outputPerMillion: '10.00',
  perCall: '0.01',
  tiers: [
    {
      aboveInputTokens: 5,
      inputPerMillion: '1.00',
      cachedInputPerMillion: '0.00',
      cacheWritePerMillion: null,
      cacheWrite1hPerMillion: null,
      outputPerMillion: '1.00',
    },
  ],
};

function at(version: string, effectiveFrom: number, prices: typeof PRICES | null): DatedFigures {
  const figures = prices && figuresOf(prices, 'prices');
  if (figures && 'refused' in figures) throw new Error('refused');
  return { version, effectiveFrom, figures };
}

test('a model shows the prices in force in the form of a PUT, and later ones', () => {
  const model = modelOf('acme/one', modelSchema.parse(modelSpec()));
  if ('refused' in model) throw new Error('refused');
  const versions = [
    at('pv_1', 1, null),
    at('pv_2', NOW, PRICES),
    at('pv_3', NOW + 1, null),
    at('pv_4', NOW + 2, PRICES),
  ];
  const view = modelViewOf(model, versions, NOW);
  expect(modelView.parse(view)).toEqual(view);
  expect(view).toMatchObject({
    prices: PRICES,
    priceVersion: 'pv_2',
    upcomingPrices: [
      { version: 'pv_3', effectiveFrom: '2026-01-01T00:00:00.001Z', figures: null },
      { version: 'pv_4', effectiveFrom: '2026-01-01T00:00:00.002Z', figures: PRICES },
    ],
  });
  expect(modelViewOf(model, versions, 5)).toMatchObject({ prices: null, priceVersion: null });
  expect(modelViewOf(model, [], NOW)).toMatchObject({ prices: null, priceVersion: null, upcomingPrices: [] });
});

test('a source shows whether it has a credential, but not the credential', () => {
  const source = sourceOf('s', sourceSchema.parse(sourceSpec()), { ...PLACE, sealedCredential: 'v1.sealed' });
  if ('refused' in source) throw new Error('refused');
  const view = sourceViewOf(source, { ...PROVIDER, format: 'anthropic' }, [at('cv_1', 1, PRICES)], NOW);
  expect(sourceView.parse(view)).toEqual(view);
  expect(view).toMatchObject({
    auth: { type: 'header', header: 'x-api-key' },
    hasCredential: true,
    credentialOf: 'source',
    costs: PRICES,
    costVersion: 'cv_1',
  });
  expect(JSON.stringify(view)).not.toContain('sealed');
});

test("a source without a credential shows whether it uses its provider's and how", () => {
  const auth = { type: 'header', header: 'x-own' } as const;
  const shared = { ...PROVIDER, auth, sealedCredential: 'v2.sealed' };
  const made = sourceOf('s', sourceSchema.parse(sourceSpec()), PLACE);
  if ('refused' in made) throw new Error('refused');
  const seen = (source: typeof made, provider: Parameters<typeof sourceViewOf>[1]) => {
    const { auth: shown, hasCredential, credentialOf } = sourceViewOf(source, provider, [], NOW);
    return [shown.type, hasCredential, credentialOf];
  };
  expect(seen(made, shared)).toEqual(['header', false, 'provider']);
  expect(seen(made, { ...shared, auth: null })).toEqual(['bearer', false, 'provider']);
  expect(seen(made, { ...shared, sealedCredential: null })).toEqual(['header', false, null]);
  expect(seen({ ...made, auth: { type: 'bearer' } }, shared)).toEqual(['bearer', false, 'provider']);
  expect(seen({ ...made, sealedCredential: 'v2.own' }, shared)).toEqual(['bearer', true, 'source']);
  expect(seen(made, undefined)).toEqual(['bearer', false, null]);
  const view = providerViewOf(shared);
  expect(providerView.parse(view)).toEqual(view);
  expect(view).toEqual({ id: 'acme', name: 'A provider', format: 'openai', auth, hasCredential: true });
});
