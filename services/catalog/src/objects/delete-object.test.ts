import { beforeAll, expect, test } from '@jest/globals';
import { modelEntryKey, type CatalogModel } from '@gateway/contracts/messages';
import { sealTo } from '@gateway/service-kit';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { accepted, operatorOn, type Operator } from '../../test/operator.js';
import { PRICES } from '../../test/specs.js';
import { startCatalogWorld } from '../../test/catalog-world.js';

const world = duringTests(startCatalogWorld);
let operator: Operator;
let published: ReadonlyMap<string, string> = new Map();
let revision = 0;

beforeAll(async () => {
  const replica = await world.start();
  await until('ready', () => replica.ready.report().ready);
  operator = operatorOn(await world.connect('dashboard'));
  (await world.connect('admission')).mirrorBucket('catalog', (entries, head) => {
    published = entries;
    revision = head.revision;
  });
});

const refused = (code: string) => ({ refused: expect.objectContaining({ code }) });
const mirrored = (at: { revision: number }) => until('mirrored', () => revision >= at.revision);
const KEY = modelEntryKey('acme/one');
const entry = () => JSON.parse(published.get(KEY) ?? 'null') as CatalogModel | null;

test('an object with a source is in use, and a deleted object leaves the bucket', async () => {
  const sealed = sealTo('sk-upstream', 'acme-one', world.sourcePublicKey);
  await accepted(operator.putProvider('acme'));
  await accepted(operator.putModel('acme/one', { prices: PRICES }));
  await mirrored(await accepted(operator.putSource('acme-one', { costs: PRICES }, sealed)));
  expect(await operator.remove('model', 'acme/one')).toEqual(refused('in_use'));
  expect(await operator.remove('provider', 'acme')).toEqual(refused('in_use'));
  expect(published.size).toBe(3);

  const source = await accepted(operator.remove('source', 'acme-one'));
  expect(source).toEqual({ revision: 4, inForce: true });
  expect(await operator.remove('model', 'acme/one')).toEqual({ revision: 5, inForce: true });
  const last = await accepted(operator.remove('provider', 'acme'));
  await mirrored(last);
  expect([...published.keys()]).toEqual([]);
  expect(await operator.getModel('acme/one')).toEqual(refused('not_found'));
  expect(await operator.listSources()).toMatchObject({ sources: [] });
  for (const [kind, id] of [
    ['source', 'acme-one'],
    ['model', 'acme/one'],
    ['provider', 'acme'],
  ] as const)
    expect(await operator.remove(kind, id)).toEqual(refused('not_found'));
  expect(await operator.putSource('acme-one')).toEqual(refused('not_found'));
});

test('deletion keeps versions, removes the credential and is recorded', async () => {
  expect(await world.sql.query("SELECT FROM price_versions WHERE model = 'acme/one'")).toHaveLength(1);
  expect(await world.sql.query("SELECT FROM cost_versions WHERE source = 'acme-one'")).toHaveLength(1);
  expect(await world.sql.query('SELECT FROM sources WHERE sealed_credential IS NOT NULL')).toEqual([]);
  const { entries } = await accepted(operator.audit({ limit: 3 }));
  expect(entries).toMatchObject([
    { action: 'delete_provider', objectId: 'acme', before: { format: 'openai' }, after: null },
    { action: 'delete_model', objectId: 'acme/one', before: { prices: { inputPerMillion: '2.50' } }, after: null },
    { action: 'delete_source', objectId: 'acme-one', before: { hasCredential: true }, after: null },
  ]);
});

test('a recreated model keeps its creation time and has none of its old prices', async () => {
  const first = await accepted(operator.putModel('acme/one', { prices: PRICES }));
  await mirrored(first);
  const created = entry()?.createdAt;
  const [row] = await world.sql.query<{ created_at: Date }>("SELECT created_at FROM models WHERE id = 'acme/one'");
  expect(created).toBe(row?.created_at.getTime());
  const effectiveFrom = new Date(Date.now() + 3_600_000).toISOString();
  await accepted(operator.putModel('acme/one', { prices: { ...PRICES, perCall: '1', effectiveFrom } }));
  await accepted(operator.remove('model', 'acme/one'));

  const again = await accepted(operator.putModel('acme/one'));
  expect(again).toMatchObject({ change: 'created', model: { prices: null, priceVersion: null, upcomingPrices: [] } });
  await mirrored(again);
  expect(entry()).toMatchObject({ createdAt: created, prices: [] });
  const priced = await accepted(operator.putModel('acme/one', { prices: PRICES }));
  await mirrored(priced);
  expect(entry()?.prices).toHaveLength(1);
  expect(priced.model.priceVersion).not.toBe(first.model.priceVersion);
  expect(await world.sql.query("SELECT FROM price_versions WHERE model = 'acme/one'")).toHaveLength(4);
});

test('a recreated source has neither its old credential nor its old costs', async () => {
  await accepted(operator.putProvider('acme'));
  const again = await accepted(operator.putSource('acme-one'));
  expect(again).toMatchObject({ change: 'created', source: { hasCredential: false, costs: null } });
});
