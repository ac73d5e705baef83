import { beforeAll, expect, test } from '@jest/globals';
import { modelEntryKey, type CatalogModel } from '@gateway/contracts/messages';
import { sealTo, Secret } from '@gateway/service-kit';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { accepted, operatorOn, type Operator } from '../../test/operator.js';
import { modelSpec, PRICES, providerSpec, sourceSpec } from '../../test/specs.js';
import { startCatalogWorld } from '../../test/catalog-world.js';

const world = duringTests(startCatalogWorld);
let operator: Operator;
let published: ReadonlyMap<string, string> = new Map();
let swaps = 0;
let revision = 0;

beforeAll(async () => {
  const replicas = await Promise.all([world.start(), world.start()]);
  await until('both are ready', () => replicas.every(({ ready }) => ready.report().ready));
  operator = operatorOn(await world.connect('dashboard'));
  (await world.connect('edge-proxy')).mirrorBucket('catalog', (entries, head) => {
    published = entries;
    revision = head.revision;
    swaps += 1;
  });
});

const provider = (id: string, more = {}) => ({ kind: 'provider' as const, id, spec: providerSpec(more) });
const model = (id: string, more = {}) => ({ kind: 'model' as const, id, spec: modelSpec(more) });
const source = (id: string, more = {}, sealed?: string | null) => ({
  kind: 'source' as const,
  id,
  spec: sourceSpec(more),
  ...(sealed === undefined ? {} : { sealedCredential: sealed }),
});
const sealed = (text: string, id: string) => sealTo(text, id, world.sourcePublicKey, new Secret('so that it repeats'));
const refused = (code: string, param: string) => ({ refused: expect.objectContaining({ code, param }) });
const mirrored = (at: { revision: number }) => until('mirrored', () => revision >= at.revision);
/** Returns all stored rows as text. */
const stored = async () => {
  const tables = [
    'providers',
    'models',
    'sources',
    'aliases',
    'price_versions',
    'cost_versions',
    'changes',
    'catalog_state',
  ];
  const rows = await Promise.all(
    tables.map((table) => world.sql.query<{ text: string }>(`SELECT t::text AS text FROM ${table} t ORDER BY 1`)),
  );
  return JSON.stringify(rows);
};

/**
 * Objects are listed before those that they refer to, because the order of a document has no
 * meaning.
 */
const document = () => [
  source('one-a', { costs: PRICES }, sealed('sk-one', 'one-a')),
  source('one-b', { providerId: 'other' }),
  model('acme/one', { prices: PRICES }),
  provider('acme'),
  provider('other', { format: 'anthropic' }),
];

test('a dry run returns the changes of the later apply and stores nothing', async () => {
  const before = await stored();
  const rehearsed = await accepted(operator.apply(document(), { dryRun: true }));
  expect(rehearsed).toMatchObject({ unchanged: 0, revision: 0, inForce: false });
  expect(await stored()).toBe(before);
  expect(await operator.listProviders()).toMatchObject({ providers: [] });
  const applied = await accepted(operator.apply(document()));
  expect(applied.changes).toEqual(rehearsed.changes);
  expect(applied).toMatchObject({ unchanged: 0, revision: 5, inForce: true });
  expect(
    applied.changes.map(({ kind, id, change, credentialChanged }) => [kind, id, change, credentialChanged]),
  ).toEqual([
    ['source', 'one-a', 'created', true],
    ['source', 'one-b', 'created', false],
    ['model', 'acme/one', 'created', false],
    ['provider', 'acme', 'created', false],
    ['provider', 'other', 'created', false],
  ]);
  expect(applied.changes[0]).toMatchObject({
    before: null,
    after: { hasCredential: true, costs: { perCall: '0.00' } },
  });
  await mirrored(applied);
  expect(published.size).toBe(5);
  const { entries } = await accepted(operator.audit());
  expect(entries.map(({ objectId }) => objectId)).toEqual(['one-b', 'one-a', 'acme/one', 'other', 'acme']);
});

test('a repeated document changes and publishes nothing', async () => {
  const before = await stored();
  const swapsBefore = swaps;
  for (const dryRun of [false, true])
    expect(await operator.apply(document(), { dryRun })).toEqual({
      changes: [],
      unchanged: 5,
      revision: 5,
      inForce: !dryRun,
    });
  expect(await operator.apply(document(), { prune: true })).toMatchObject({ changes: [], unchanged: 5 });
  expect(await stored()).toBe(before);
  // A publication of the earlier documents would come before this one.
  await mirrored(await accepted(operator.putProvider('acme', { name: 'Renamed' })));
  expect(swaps).toBe(swapsBefore + 1);
  expect(await operator.apply(document())).toMatchObject({
    changes: [{ id: 'acme', change: 'changed', before: { name: 'Renamed' }, after: { name: 'A provider' } }],
    unchanged: 4,
  });
});

test('changed prices appear as before and after, without version IDs', async () => {
  const prices = { ...PRICES, outputPerMillion: '12' };
  const effectiveFrom = new Date(Date.now() + 3_600_000).toISOString();
  const later = [model('acme/one', { prices: { ...prices, effectiveFrom } })];
  const rehearsed = await accepted(operator.apply(later, { dryRun: true }));
  expect(rehearsed.changes).toEqual([
    expect.objectContaining({
      change: 'changed',
      before: expect.objectContaining({ upcomingPrices: [] }),
      after: expect.objectContaining({
        upcomingPrices: [{ effectiveFrom, figures: expect.objectContaining({ outputPerMillion: '12.00' }) }],
      }),
    }),
  ]);
  expect(JSON.stringify(rehearsed)).not.toMatch(/[pc]v_[0-9a-f]{32}/);
  const applied = await accepted(operator.apply(later));
  expect(applied.changes).toEqual(rehearsed.changes);
  expect(await operator.apply(later)).toMatchObject({ changes: [], unchanged: 1 });
  await mirrored(applied);
  const entry = JSON.parse(published.get(modelEntryKey('acme/one')) ?? 'null') as CatalogModel;
  expect(entry.prices.map(({ figures }) => figures?.outputPerMillion)).toEqual([10_000_000_000, 12_000_000_000]);
});

test('a refusal names the object and field, and nothing is stored', async () => {
  const before = await stored();
  const good = provider('acme', { name: 'Never kept' });
  const past = { ...PRICES, effectiveFrom: '2020-01-01T00:00:00Z', outputPerMillion: '99' };
  const tier = { aboveInputTokens: 1, ...PRICES };
  const cases: [Parameters<Operator['apply']>[0], string, string][] = [
    [[good, model('acme/one', { prices: past })], 'invalid_request', 'objects[1].spec.prices.effectiveFrom'],
    [
      [model('a/b', { prices: { ...PRICES, tiers: [tier, tier] } }), good],
      'invalid_request',
      'objects[0].spec.prices.tiers',
    ],
    [[good, source('lost', { modelId: 'acme/none' })], 'not_found', 'objects[1].spec.modelId'],
    [[good, source('lost', { baseUrl: 'https://169.254.169.254' })], 'invalid_request', 'objects[1].spec.baseUrl'],
    [[good, source('lost', {}, 'sk-in-clear')], 'invalid_request', 'objects[1].spec.credential'],
    [[good, model('a/b'), good], 'invalid_request', 'objects[2]'],
    [[good, ...Array.from({ length: 7 }, (_, n) => source(`n${n}`))], 'state_conflict', 'objects[1].spec.modelId'],
  ];
  for (const [objects, code, param] of cases)
    for (const dryRun of [true, false]) {
      const answer = await operator.apply(objects, { dryRun });
      expect(answer).toEqual(refused(code, param));
      if (param.includes('.') && 'refused' in answer) expect(answer.refused.message).toMatch(/^(model|source) \S+: /);
    }
  expect(await stored()).toBe(before);
});

test('prune deletes unlisted objects and refuses those that are still used', async () => {
  await accepted(operator.apply([model('acme/two'), source('two-a', { modelId: 'acme/two' })]));
  const kept = [
    provider('new'),
    model('acme/new'),
    source('one-a', { modelId: 'acme/new', providerId: 'new', costs: PRICES }),
  ];
  const used = [provider('new'), source('one-a', { modelId: 'acme/one', providerId: 'new', costs: PRICES })];
  const before = await stored();
  expect(await operator.apply(used, { prune: true })).toEqual(refused('in_use', 'objects'));
  expect(await stored()).toBe(before);
  const rehearsed = await accepted(operator.apply(kept, { prune: true, dryRun: true }));
  const applied = await accepted(operator.apply(kept, { prune: true }));
  expect(applied.changes).toEqual(rehearsed.changes);
  expect(applied.changes.map(({ kind, id, change }) => `${kind} ${id} ${change}`)).toEqual([
    'provider new created',
    'model acme/new created',
    'source one-a changed',
    'source one-b deleted',
    'source two-a deleted',
    'model acme/one deleted',
    'model acme/two deleted',
    'provider acme deleted',
    'provider other deleted',
  ]);
  await mirrored(applied);
  expect([...published.keys()].sort()).toEqual([modelEntryKey('acme/new'), 'provider.new', 'source.one-a'].sort());
});

test('one document replaces all sources of a full model, by deletion and by moving', async () => {
  const base = [provider('new'), model('acme/new'), model('acme/old')];
  const of = (modelId: string, ids: string[]) => ids.map((id) => source(id, { modelId, providerId: 'new' }));
  const ids = (letter: string) => Array.from({ length: 8 }, (_, n) => `${letter}${n}`);
  await accepted(operator.apply([...base, ...of('acme/new', ids('a'))], { prune: true }));
  const exchanged = [...base, ...of('acme/new', ids('b'))];
  expect(await operator.apply(exchanged, { prune: true })).toMatchObject({ changes: { length: 16 } });
  const moved = [...of('acme/new', ids('c')), ...of('acme/old', ids('b'))];
  expect(await operator.apply(moved)).toMatchObject({ changes: { length: 16 } });
  expect(await operator.listSources({ model: 'acme/old' })).toMatchObject({ sources: { length: 8 } });
});

test('changes that exceed one response are refused, and nothing is stored', async () => {
  const headers = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`x-${n}`, 'v'.repeat(1_000)]));
  for (let m = 0; m < 4; m += 1) {
    const ofModel = Array.from({ length: 8 }, (_, n) =>
      source(`big-${m}-${n}`, { modelId: `big/${m}`, providerId: 'new', headers }),
    );
    await accepted(operator.apply([model(`big/${m}`), ...ofModel]));
  }
  const before = await stored();
  for (const dryRun of [true, false])
    expect(await operator.apply([], { prune: true, dryRun })).toEqual(refused('invalid_request', 'objects'));
  expect(await stored()).toBe(before);
});

test('a thousand objects are applied, repeated and deleted within the timeout', async () => {
  await world.sql.execute("UPDATE sources SET headers = '{}'");
  const objects = [
    ...Array.from({ length: 10 }, (_, n) => provider(`p${n}`)),
    ...Array.from({ length: 495 }, (_, n) => model(`m/m${n}`, { prices: PRICES })),
    ...Array.from({ length: 495 }, (_, n) =>
      source(`s${n}`, { modelId: `m/m${n}`, providerId: `p${n % 10}`, costs: PRICES }),
    ),
  ];
  expect(await operator.apply(objects)).toMatchObject({ changes: { length: 1_000 } });
  expect(await operator.apply(objects)).toMatchObject({ changes: [], unchanged: 1_000 });
  const emptied = await accepted(operator.apply([], { prune: true }));
  await mirrored(emptied);
  expect(published.size).toBe(0);
});
