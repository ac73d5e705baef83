import { beforeAll, expect, test } from '@jest/globals';
import { aliasEntryKey } from '@gateway/contracts/messages';
import { ALIASES_MAX } from '@gateway/contracts/operator';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { startCatalogWorld } from '../../test/catalog-world.js';
import { accepted, operatorOn, type Operator } from '../../test/operator.js';
import { modelSpec } from '../../test/specs.js';

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
  await accepted(operator.putModel('acme/one'));
  await accepted(operator.putModel('acme/two'));
});

const refused = (code: string, param: unknown = expect.anything()) => ({
  refused: expect.objectContaining({ code, param }),
});
const mirrored = (at: { revision: number }) => until('mirrored', () => revision >= at.revision);
const entry = (name: string) => JSON.parse(published.get(aliasEntryKey(name)) ?? 'null') as unknown;
const alias = (id: string, modelId: string) => ({ kind: 'alias' as const, id, spec: { modelId } });

test('an alias is created, moved to another model, listed, published and deleted', async () => {
  const created = await accepted(operator.putAlias('team:large@v1/x', 'acme/one'));
  expect(created).toMatchObject({ change: 'created', alias: { id: 'team:large@v1/x', modelId: 'acme/one' } });
  expect(await operator.putAlias('team:large@v1/x', 'acme/one')).toMatchObject({ change: 'unchanged' });
  const moved = await accepted(operator.putAlias('team:large@v1/x', 'acme/two'));
  expect(moved.change).toBe('changed');
  await mirrored(moved);
  expect(entry('team:large@v1/x')).toEqual({ v: 1, id: 'team:large@v1/x', model: 'acme/two' });
  expect(await operator.getAlias('team:large@v1/x')).toMatchObject({ alias: { modelId: 'acme/two' } });
  await accepted(operator.putAlias('a', 'acme/one'));
  expect(await operator.listAliases({ limit: 1 })).toMatchObject({ aliases: [{ id: 'a' }] });
  await mirrored(await accepted(operator.remove('alias', 'a')));
  expect(entry('a')).toBeNull();
  expect(await operator.getAlias('a')).toEqual(refused('not_found', null));
  const { entries } = await accepted(operator.audit({ object: 'team:large@v1/x' }));
  expect(entries.map(({ action, before, after }) => [action, before, after])).toEqual([
    ['put_alias', { id: 'team:large@v1/x', modelId: 'acme/one' }, { id: 'team:large@v1/x', modelId: 'acme/two' }],
    ['put_alias', null, { id: 'team:large@v1/x', modelId: 'acme/one' }],
  ]);
});

test('an alias is refused for a catalog ID, an unknown model and another alias', async () => {
  await accepted(operator.putAlias('publisher/name', 'acme/one'));
  expect(await operator.putAlias('acme/two', 'acme/one')).toEqual(refused('state_conflict', 'id'));
  expect(await operator.putAlias('b', 'acme/none')).toEqual(refused('not_found', 'modelId'));
  expect(await operator.putAlias('b', 'publisher/name')).toEqual(refused('not_found', 'modelId'));
});

test('a model whose ID is an alias is refused, and a model with an alias is in use', async () => {
  await accepted(operator.putAlias('acme/new', 'acme/one'));
  expect(await operator.putModel('acme/new')).toEqual(refused('state_conflict', 'id'));
  expect(await operator.remove('model', 'acme/one')).toEqual(refused('in_use', null));
  await accepted(operator.remove('alias', 'acme/new'));
  expect(await operator.putModel('acme/new')).toMatchObject({ change: 'created' });
  expect(await operator.putAlias('acme/new', 'acme/one')).toEqual(refused('state_conflict', 'id'));
});

test('a document creates aliases with their models, and prune deletes unlisted ones', async () => {
  const models = ['acme/one', 'acme/two'].map((id) => ({ kind: 'model' as const, id, spec: modelSpec() }));
  const applied = await accepted(operator.apply([alias('doc', 'acme/three'), model('acme/three'), ...models]));
  expect(applied.changes.map(({ kind, id, change }) => [kind, id, change])).toEqual([
    ['alias', 'doc', 'created'],
    ['model', 'acme/three', 'created'],
  ]);
  const pruned = await accepted(operator.apply([alias('doc', 'acme/two'), ...models], { prune: true }));
  expect(pruned.changes).toContainEqual(
    expect.objectContaining({ kind: 'model', id: 'acme/three', change: 'deleted' }),
  );
  expect(await operator.listAliases()).toMatchObject({ aliases: [{ id: 'doc', modelId: 'acme/two' }] });
  // A model in the same document can have the name of a pruned alias.
  const replaced = await operator.apply([model('acme/alias'), ...models], { prune: true });
  expect(replaced).toMatchObject({ inForce: expect.anything() });
  const wrong = await operator.apply([...models, alias('acme/one', 'acme/two')]);
  expect(wrong).toEqual(refused('state_conflict', 'objects[2].spec.id'));
});

test('the catalog has at most 1,000 aliases', async () => {
  const many = Array.from({ length: ALIASES_MAX }, (_, at) => alias(`many-${at}`, 'acme/one'));
  await accepted(operator.apply(many.slice(0, 999)));
  await accepted(operator.putAlias('last', 'acme/one'));
  expect(await operator.putAlias('one-more', 'acme/one')).toEqual(refused('state_conflict', null));
  expect(await operator.apply([alias('one-more', 'acme/one')])).toEqual(refused('state_conflict', null));
  expect(await operator.putAlias('last', 'acme/two')).toMatchObject({ change: 'changed' });
});

function model(id: string) {
  return { kind: 'model' as const, id, spec: modelSpec() };
}
