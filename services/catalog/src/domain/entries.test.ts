import { expect, test } from '@jest/globals';
import { catalogModel, catalogProvider, catalogSource, modelEntryKey } from '@gateway/contracts/messages';
import { modelSpec as modelSchema, sourceSpec as sourceSchema } from '@gateway/contracts/operator';
import { modelSpec, sourceSpec } from '../../test/specs.js';
import { entriesOf } from './entries.js';
import { modelOf, sourceOf } from './from-spec.js';
import type { CatalogSnapshot, Model, Source } from './objects.js';

const NOW = 1_000_000;
const FIGURES = {
  inputPerMillion: 1n,
  cachedInputPerMillion: null,
  cacheWritePerMillion: null,
  cacheWrite1hPerMillion: null,
  outputPerMillion: 2n,
  perCall: 0n,
  tiers: [],
};

function source(id: string, more: Parameters<typeof sourceSpec>[0]): Source {
  const made = sourceOf(id, sourceSchema.parse(sourceSpec(more)), 'v1.sealed', false);
  if ('refused' in made) throw new Error(JSON.stringify(made));
  return made;
}

function model(id: string): Model {
  const made = modelOf(id, modelSchema.parse(modelSpec()));
  if ('refused' in made) throw new Error(JSON.stringify(made));
  return made;
}

const SNAPSHOT: CatalogSnapshot = {
  revision: 3,
  nowMs: NOW,
  providers: [
    { id: 'acme', name: 'Acme', format: 'openai' },
    { id: 'other', name: 'Other', format: 'anthropic' },
  ],
  models: [{ ...model('acme/one'), createdAt: 7 }],
  sources: [
    source('a', {}),
    source('b', { providerId: 'other' }),
    source('c', { providerId: 'other', auth: { type: 'bearer' } }),
  ],
  prices: new Map([
    [
      'acme/one',
      [
        { version: 'pv_old', effectiveFrom: 1, figures: FIGURES },
        { version: 'pv_now', effectiveFrom: 2, figures: null },
        { version: 'pv_next', effectiveFrom: NOW + 1, figures: FIGURES },
      ],
    ],
  ]),
  costs: new Map(),
};

test('every entry has the form that its readers validate, under the key that they look for', () => {
  const entries = entriesOf(SNAPSHOT);
  expect([...entries.keys()]).toEqual([
    'provider.acme',
    'provider.other',
    modelEntryKey('acme/one'),
    'source.a',
    'source.b',
    'source.c',
  ]);
  const read = (key: string): unknown => JSON.parse(entries.get(key) ?? 'null');
  expect(catalogProvider.parse(read('provider.acme'))).toEqual(read('provider.acme'));
  expect(catalogSource.parse(read('source.a'))).toEqual(read('source.a'));
  const model = catalogModel.parse(read(modelEntryKey('acme/one')));
  expect(model).toEqual(read(modelEntryKey('acme/one')));
  expect(model).toMatchObject({ createdAt: 7, prices: [{ version: 'pv_now', figures: null }, { version: 'pv_next' }] });
});

test('where a source does not say how its key is sent, the format of its provider does', () => {
  const entries = entriesOf(SNAPSHOT);
  const authOf = (id: string) => catalogSource.parse(JSON.parse(entries.get(`source.${id}`) ?? 'null')).auth;
  expect(authOf('a')).toEqual({ type: 'bearer' });
  expect(authOf('b')).toEqual({ type: 'header', header: 'x-api-key' });
  expect(authOf('c')).toEqual({ type: 'bearer' });
});
