import { expect, test } from '@jest/globals';
import {
  aliasEntryKey,
  catalogAlias,
  catalogModel,
  catalogProvider,
  catalogSource,
  modelEntryKey,
  type CatalogSource,
} from '@gateway/contracts/messages';
import {
  modelSpec as modelSchema,
  sourceSpec as sourceSchema,
  type ProviderProfile,
} from '@gateway/contracts/operator';
import { AMOUNT_NANO_USD_MAX } from '@gateway/metering';
import { modelSpec, PLACE, PROVIDER, sourceSpec } from '../../test/specs.js';
import { VERSIONS_AHEAD_MAX } from '../objects/version-rules.js';
import { OPENAI_COMPATIBLE } from '@gateway/contracts/providers';
import { profileOf } from '../profiles/profile-rules.js';
import { entriesOf, sourceEntry } from './entry-rules.js';
import { modelOf, SOURCE_BYTES_MAX, sourceOf } from '../objects/spec-rules.js';
import type { CatalogSnapshot, Model, Source } from '../objects/rules.js';

const ANTHROPIC = profileOf({ profile: 'anthropic' }, 'anthropic');
const NOW = 1_000_000;
const FIGURES = {
  inputPerMillion: 1n,
  cachedInputPerMillion: null,
  cacheWritePerMillion: null,
  cacheWrite1hPerMillion: null,
  outputPerMillion: 2n,
  perCall: 0n,
  tiers: [],
  extras: null,
};

function source(id: string, more: Parameters<typeof sourceSpec>[0]): Source {
  const made = sourceOf(id, sourceSchema.parse(sourceSpec(more)), { ...PLACE, sealedCredential: 'v1.sealed' });
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
    { ...PROVIDER, name: 'Acme' },
    { ...PROVIDER, id: 'other', name: 'Other', format: 'anthropic' },
  ],
  models: [{ ...model('acme/one'), createdAt: 7 }],
  aliases: [{ id: 'one@latest', model: 'acme/one' }],
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

test('every entry has the form and the key that its readers expect', () => {
  const entries = entriesOf(SNAPSHOT);
  expect([...entries.keys()]).toEqual([
    'provider.acme',
    'provider.other',
    modelEntryKey('acme/one'),
    'source.a',
    'source.b',
    'source.c',
    aliasEntryKey('one@latest'),
  ]);
  const read = (key: string): unknown => JSON.parse(entries.get(key) ?? 'null');
  expect(catalogProvider.parse(read('provider.acme'))).toEqual(read('provider.acme'));
  expect(catalogSource.parse(read('source.a'))).toEqual(read('source.a'));
  expect(catalogAlias.parse(read(aliasEntryKey('one@latest')))).toMatchObject({ model: 'acme/one' });
  const model = catalogModel.parse(read(modelEntryKey('acme/one')));
  expect(model).toEqual(read(modelEntryKey('acme/one')));
  expect(model.createdAt).toBe(7);
  expect(model.prices.map(({ version, figures }) => [version, figures === null])).toEqual([
    ['pv_old', false],
    ['pv_now', true],
    ['pv_next', false],
  ]);
});

test('hour writes cost twice the input on the messages format', () => {
  const prices = new Map(
    ['acme/one', 'acme/two'].map((id) => [id, [{ version: 'pv', effectiveFrom: 1, figures: FIGURES }]]),
  );
  const costs = new Map(['a', 'b'].map((id) => [id, [{ version: 'cv', effectiveFrom: 1, figures: FIGURES }]]));
  const models = ['acme/one', 'acme/two'].map((id) => ({ ...model(id), createdAt: 7 }));
  const sources = [source('a', {}), source('b', { endpoints: ['/v1/messages'], enabled: false })];
  const entries = entriesOf({ ...SNAPSHOT, models, sources, prices, costs });
  const hourPrice = (key: string, versions: string): unknown =>
    JSON.parse(entries.get(key) ?? 'null')[versions][0].figures.cacheWrite1hPerMillion;
  expect(hourPrice(modelEntryKey('acme/one'), 'prices')).toBe(2);
  expect(hourPrice(modelEntryKey('acme/two'), 'prices')).toBeNull();
  expect(hourPrice('source.a', 'costs')).toBeNull();
  expect(hourPrice('source.b', 'costs')).toBe(2);
});

test("a provider's credential is in its entry, and its auth in the entries of sources", () => {
  const auth = { type: 'header', header: 'x-shared' } as const;
  const shared = { ...PROVIDER, auth, sealedCredential: 'v2.shared' };
  const own = { ...source('own', {}), sealedCredential: 'v2.own' };
  const none = { ...source('a', {}), sealedCredential: null };
  const entries = entriesOf({ ...SNAPSHOT, providers: [shared], sources: [none, own] });
  const read = (key: string): unknown => JSON.parse(entries.get(key) ?? 'null');
  expect(catalogProvider.parse(read('provider.acme'))).toMatchObject({ sealedCredential: 'v2.shared' });
  expect(catalogSource.parse(read('source.a'))).toMatchObject({ auth, sealedCredential: null });
  expect(catalogSource.parse(read('source.own'))).toMatchObject({
    auth: { type: 'bearer' },
    sealedCredential: 'v2.own',
  });
  expect([...entries].filter(([, text]) => text.includes('v2.shared')).map(([key]) => key)).toEqual(['provider.acme']);
});

test('the largest source with all its versions fits into an entry of the bucket', () => {
  const prices = {
    inputPerMillion: AMOUNT_NANO_USD_MAX,
    cachedInputPerMillion: AMOUNT_NANO_USD_MAX,
    cacheWritePerMillion: AMOUNT_NANO_USD_MAX,
    cacheWrite1hPerMillion: AMOUNT_NANO_USD_MAX,
    outputPerMillion: AMOUNT_NANO_USD_MAX,
  };
  const tiers = Array.from({ length: 8 }, (_, n) => ({ ...prices, aboveInputTokens: 1_000_000_000 - n }));
  const figures = { ...prices, perCall: AMOUNT_NANO_USD_MAX, tiers, extras: null };
  const versions = Array.from({ length: VERSIONS_AHEAD_MAX + 3 }, (_, n) => ({
    version: `cv_${String(n).padStart(32, '0')}`,
    effectiveFrom: NOW - 2 + n,
    figures,
  }));
  const entries = entriesOf({ ...SNAPSHOT, costs: new Map([['a', versions]]) });
  const { costs } = catalogSource.parse(JSON.parse(entries.get('source.a') ?? 'null'));
  expect(costs).toHaveLength(VERSIONS_AHEAD_MAX + 2);
  expect(JSON.stringify(costs).length + SOURCE_BYTES_MAX).toBeLessThan(64 * 1024);
});

test("the provider's format decides how a key is sent if the source has no auth", () => {
  const entries = entriesOf(SNAPSHOT);
  const authOf = (id: string) => catalogSource.parse(JSON.parse(entries.get(`source.${id}`) ?? 'null')).auth;
  expect(authOf('a')).toEqual({ type: 'bearer' });
  expect(authOf('b')).toEqual({ type: 'header', header: 'x-api-key' });
  expect(authOf('c')).toEqual({ type: 'bearer' });
});

test('only the entry of a source with quotas has quotas', () => {
  const quota = { requestsPerMinute: 60, callsAtOnce: null, tokensPerMinute: null };
  const sources = [source('a', { quota: { requestsPerMinute: 60 } }), source('b', { quota: { callsAtOnce: null } })];
  const entries = entriesOf({ ...SNAPSHOT, sources });
  const read = (id: string) => catalogSource.parse(JSON.parse(entries.get(`source.${id}`) ?? 'null'));
  expect(read('a').quota).toEqual(quota);
  expect(read('b')).not.toHaveProperty('quota');
});

const CLAUDE = { imageTokens: 4_784, documentPages: 600, pageTokens: 7_784 };
test.each<[string, Partial<Source>, CatalogSource['attachments']]>([
  ['its profile', {}, CLAUDE],
  ['the model', { model: 'openai/gpt-4o-mini-2024-07-18' }, { ...CLAUDE, imageTokens: 48_169 }],
  ['the model at its provider', { upstreamModel: 'GPT-4o-mini' }, { ...CLAUDE, imageTokens: 48_169 }],
  ['its profile, for a model with a similar name', { upstreamModel: 'gpt-4o-minimal' }, CLAUDE],
  ['its own setting', { model: 'openai/gpt-4o-mini', attachments: { imageTokens: 9 } }, { imageTokens: 9 }],
  ['nothing, so that the defaults apply', { attachments: {} }, undefined],
])('a source has attachment sizes by %s', (_name, settings, attachments) => {
  const entry = sourceEntry({ ...source('s', {}), baseUrl: null, ...settings }, ANTHROPIC, []);
  expect(entry.attachments).toEqual(attachments);
});

test('a source that forwards everything has the rules and the reported cost path', () => {
  const reportedCostAt = { path: 'usage.price', unit: 'usd' } as const;
  const own = { ...source('s', {}), baseUrl: null, unpriced: 'forward', reportedCostAt } as const;
  const { pricing, unpriced } = sourceEntry(own, ANTHROPIC, []);
  expect([unpriced, pricing]).toEqual(['forward', { ...ANTHROPIC.pricing, reportedCostAt }]);
});

test('a source adds free tools to those of its profile', () => {
  const own = { ...source('s', {}), baseUrl: null, freeTools: ['local_*'] };
  const { pricing } = sourceEntry(own, { ...OPENAI_COMPATIBLE, base: 'https://acme.example' }, []);
  expect(pricing?.freeTools).toEqual([...OPENAI_COMPATIBLE.pricing.freeTools, 'local_*']);
});

/** A different value for each member of a profile. Null: edges do not use the member. */
const FLIPPED: { readonly [Name in keyof ProviderProfile]: ProviderProfile[Name] | null } = {
  id: 'another',
  name: null,
  checked: null,
  documentation: null,
  format: null,
  base: 'https://another.example',
  parameters: null,
  endpoints: { '/v1/chat/completions': { plain: '/a', streamed: '/b' } },
  modelPaths: [{ models: ['*'], endpoints: { '/v1/chat/completions': '/other' } }],
  auth: [{ type: 'header', header: 'x-key' }],
  headers: { 'x-a': '1' },
  betas: ['a'],
  body: { '/v1/chat/completions': { remove: ['x'] } },
  refuses: null,
  streamUsage: 'never',
  totalExtra: 'input',
  cachedInInput: true,
  attachments: { imageTokens: 1 },
  pricing: { classes: [], tools: [], freeTools: ['*'], unpricedFields: {} },
  errors: [{ status: 418, code: null, text: null, class: 'funds' }],
  unlimitedMaxTokens: [-1],
  cancelStopsBilling: true,
  keepsState: false,
  foreignIds: 'forward',
  keyVariable: null,
  catches: null,
};

test.each(Object.keys(FLIPPED) as (keyof ProviderProfile)[])(
  "the entry of a source has the profile's %s if edges use it",
  (name) => {
    const profile = { ...OPENAI_COMPATIBLE, base: 'https://acme.example' };
    const own = { ...source('s', {}), baseUrl: null };
    const flipped = FLIPPED[name];
    const before = sourceEntry(own, profile, []);
    const after = sourceEntry(own, { ...profile, [name]: flipped }, []);
    if (flipped === null) expect(after).toEqual(before);
    else expect(after).not.toEqual(before);
    expect(catalogSource.parse(after)).toEqual(after);
  },
);

test("a source publishes its profile's forwarded headers, else its own", () => {
  const forwarded = (forwardHeaders?: string[] | null) =>
    sourceEntry(
      source('x', forwardHeaders === undefined ? {} : { forwardHeaders }),
      {
        ...OPENAI_COMPATIBLE,
        forwardHeaders: ['x-session-affinity'],
      },
      [],
    ).forwardHeaders;
  expect([forwarded(), forwarded(null), forwarded(['x-own']), forwarded([])]).toEqual([
    ['x-session-affinity'],
    ['x-session-affinity'],
    ['x-own'],
    undefined,
  ]);
});
