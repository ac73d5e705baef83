import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, expect, test } from '@jest/globals';
import type { AnyRequest, Bus } from '@gateway/bus';
import {
  catalogApply,
  catalogDelete,
  catalogProposePrices,
  catalogPutAlias,
  catalogPutModel,
  catalogPutProvider,
  catalogPutSource,
  MESSAGES,
  modelEntryKey,
  type CatalogModel,
  type CatalogSource,
} from '@gateway/contracts/messages';
import { dumpSchema, onPool } from '@gateway/postgres';
import { sealTo } from '@gateway/service-kit';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { AUTHOR, modelSpec, PRICES, providerSpec, sourceSpec } from '../test/specs.js';
import { startCatalogWorld } from '../test/catalog-world.js';
import { OPENAI_COMPATIBLE } from '@gateway/contracts/providers';

const GOLDEN = new URL('../schema.golden.txt', import.meta.url);

const world = duringTests(startCatalogWorld);
let dashboard: Bus;
let edge: Bus;
let published: ReadonlyMap<string, string> = new Map();
let revision = 0;

beforeAll(async () => {
  await world.start();
  dashboard = await world.connect('dashboard');
  edge = await world.connect('edge-proxy');
  edge.mirrorBucket('catalog', (entries, head) => {
    published = entries;
    revision = head.revision;
  });
});

const putProvider = (id: string, more = {}) =>
  dashboard.request(catalogPutProvider, { id, spec: providerSpec(more), author: AUTHOR });
const putModel = (id: string, more = {}) =>
  dashboard.request(catalogPutModel, { id, spec: modelSpec(more), author: AUTHOR });
const putSource = (id: string, more = {}, sealedCredential?: string | null) =>
  dashboard.request(catalogPutSource, {
    id,
    spec: sourceSpec(more),
    author: AUTHOR,
    ...(sealedCredential === undefined ? {} : { sealedCredential }),
  });
const refused = (code: string, param: string | null) => ({ refused: expect.objectContaining({ code, param }) });
const seal = (text: string, id: string) => sealTo(text, id, world.sourcePublicKey);

async function shown<T>(key: string, at: { revision: number }): Promise<T> {
  await until(`revision ${at.revision} is mirrored`, () => revision >= at.revision);
  return JSON.parse(published.get(key) ?? 'null') as T;
}

async function accepted(answer: Promise<object>): Promise<{ change: string; revision: number }> {
  const value = await answer;
  if ('refused' in value) throw new Error(JSON.stringify(value));
  return value as { change: string; revision: number };
}

test('provider, model and source are in the bucket when the response arrives', async () => {
  expect(await accepted(putProvider('acme'))).toMatchObject({ change: 'created', revision: 1 });
  expect(await accepted(putModel('acme/one', { prices: PRICES }))).toMatchObject({ change: 'created', revision: 2 });
  const saved = await accepted(putSource('acme-one'));
  expect(saved).toMatchObject({ change: 'created', revision: 3 });
  const [row] = await world.sql.query<{ created_at: Date }>("SELECT created_at FROM models WHERE id = 'acme/one'");
  const model = await shown<CatalogModel>(modelEntryKey('acme/one'), saved);
  expect(model).toEqual({
    v: 1,
    id: 'acme/one',
    displayName: 'A model',
    active: true,
    available: true,
    kind: 'chat',
    contextLength: null,
    maxOutputTokens: null,
    bytesPerToken: 3,
    createdAt: row?.created_at.getTime(),
    prices: [
      {
        version: expect.stringMatching(/^pv_[0-9a-f]{32}$/),
        effectiveFrom: expect.any(Number),
        figures: {
          inputPerMillion: 2_500_000_000,
          cachedInputPerMillion: 1_250_000_000,
          cacheWritePerMillion: null,
          cacheWrite1hPerMillion: null,
          outputPerMillion: 10_000_000_000,
          perCall: 0,
          tiers: [],
        },
      },
    ],
  });
  expect(await shown('provider.acme', saved)).toEqual({ v: 1, id: 'acme', name: 'A provider', format: 'openai' });
  expect(await shown<CatalogSource>('source.acme-one', saved)).toEqual({
    v: 1,
    id: 'acme-one',
    model: 'acme/one',
    provider: 'acme',
    profile: OPENAI_COMPATIBLE.id,
    pricing: OPENAI_COMPATIBLE.pricing,
    baseUrl: 'https://api.acme.example',
    upstreamModel: 'one',
    endpoints: ['/v1/chat/completions'],
    paths: {},
    auth: { type: 'bearer' },
    sealedCredential: null,
    headers: {},
    betas: [],
    priority: 0,
    weight: 1,
    enabled: true,
    streamUsage: true,
    cancelStopsBilling: false,
    totalExtra: 'reasoning',
    limits: { headersTimeoutMs: null, firstEventTimeoutMs: null, silenceTimeoutMs: null },
    costs: [],
  });
});

test('an equal object creates no revision, and a different one does', async () => {
  const before = await accepted(putProvider('acme'));
  const unchanged = { change: 'unchanged', revision: before.revision, inForce: true };
  expect(before).toMatchObject(unchanged);
  expect(await accepted(putModel('acme/one', { prices: PRICES }))).toMatchObject(unchanged);
  expect(await accepted(putSource('acme-one'))).toMatchObject(unchanged);
  const changed = { change: 'changed', revision: before.revision + 1, inForce: true };
  expect(await accepted(putSource('acme-one', { weight: 7 }))).toMatchObject(changed);
  expect(await shown('source.acme-one', changed)).toMatchObject({ weight: 7 });
});

test('different prices create a version, absent ones do not, null ends the prices', async () => {
  const versionsOf = async (at: { revision: number }) =>
    (await shown<CatalogModel>(modelEntryKey('acme/priced'), at)).prices;
  const first = await versionsOf(await accepted(putModel('acme/priced', { prices: PRICES })));
  expect(await versionsOf(await accepted(putModel('acme/priced', { displayName: 'Other' })))).toEqual(first);
  const dearer = { ...PRICES, outputPerMillion: '11' };
  const second = await versionsOf(await accepted(putModel('acme/priced', { displayName: 'Other', prices: dearer })));
  // The previous version is kept for calls that began under it and for late clocks.
  expect(second).toEqual([first[0], expect.objectContaining({ figures: expect.anything() as unknown })]);
  expect(second[1]?.version).not.toBe(first[0]?.version);
  expect(second[1]?.figures?.outputPerMillion).toBe(11_000_000_000);
  const third = await versionsOf(await accepted(putModel('acme/priced', { displayName: 'Other', prices: null })));
  expect(third).toMatchObject([second[1]!, { figures: null }]);
  expect(await accepted(putModel('acme/priced', { displayName: 'Other', prices: null }))).toMatchObject({
    change: 'unchanged',
  });
  const kept = await world.sql.query("SELECT FROM price_versions WHERE model = 'acme/priced'");
  expect(kept).toHaveLength(3);
});

test('an entry has later versions next to the one in force; past times are refused', async () => {
  await accepted(putModel('acme/later', { prices: PRICES }));
  const effectiveFrom = new Date(Date.now() + 3_600_000).toISOString();
  const later = { ...PRICES, inputPerMillion: '3', effectiveFrom };
  const saved = await accepted(putModel('acme/later', { prices: later }));
  const { prices } = await shown<CatalogModel>(modelEntryKey('acme/later'), saved);
  expect(prices.map(({ figures }) => figures?.inputPerMillion)).toEqual([2_500_000_000, 3_000_000_000]);
  expect(prices[1]?.effectiveFrom).toBe(Date.parse(effectiveFrom));
  expect(await accepted(putModel('acme/later', { prices: later }))).toMatchObject({ change: 'unchanged' });
  const past = { ...PRICES, inputPerMillion: '4', effectiveFrom: '2020-01-01T00:00:00Z' };
  expect(await putModel('acme/later', { prices: past })).toEqual(refused('invalid_request', 'prices.effectiveFrom'));
});

test('costs of a source have their own versions', async () => {
  const saved = await accepted(putSource('acme-one', { costs: { inputPerMillion: '1', outputPerMillion: '5' } }));
  const { costs } = await shown<CatalogSource>('source.acme-one', saved);
  expect(costs).toMatchObject([
    { version: expect.stringMatching(/^cv_[0-9a-f]{32}$/), figures: { inputPerMillion: 1_000_000_000 } },
  ]);
});

test('invalid sources and a ninth source are refused and not stored', async () => {
  expect(await putSource('lost', { modelId: 'acme/none' })).toEqual(refused('not_found', 'modelId'));
  expect(await putSource('lost', { providerId: 'none' })).toEqual(refused('not_found', 'providerId'));
  expect(await putSource('health')).toEqual(refused('invalid_request', 'id'));
  expect(await putSource('lost', { baseUrl: 'http://api.acme.example' })).toEqual(
    refused('invalid_request', 'baseUrl'),
  );
  expect(await putSource('lost', { baseUrl: 'https://169.254.169.254' })).toEqual(
    refused('invalid_request', 'baseUrl'),
  );
  await accepted(putModel('acme/many'));
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => putSource(`m${n}`, { modelId: 'acme/many' })));
  expect(answers.filter((answer) => 'refused' in answer)).toHaveLength(12);
  expect(answers.find((answer) => 'refused' in answer)).toEqual(refused('state_conflict', 'modelId'));
  const rows = await world.sql.query("SELECT FROM sources WHERE model = 'acme/many' OR id = 'lost'");
  expect(rows).toHaveLength(8);
});

test('too large amounts, duplicate tiers and large bytesPerToken are refused', async () => {
  const putPrices = (prices: object, more = {}) => putModel('acme/refused', { prices, ...more });
  await expect(putPrices({ ...PRICES, inputPerMillion: '9000001' })).rejects.toMatchObject({ code: 'invalid_message' });
  const tier = { aboveInputTokens: 10, ...PRICES };
  expect(await putPrices({ ...PRICES, tiers: [tier, tier] })).toEqual(refused('invalid_request', 'prices.tiers'));
  const flat = { inputPerMillion: '1', outputPerMillion: '1' };
  expect(await putPrices(flat, { bytesPerToken: 9 })).toEqual(refused('invalid_request', 'bytesPerToken'));
  expect(await putPrices(PRICES, { bytesPerToken: 9 })).toMatchObject({ change: 'created' });
  expect(await putModel('acme/refused', { bytesPerToken: 16.0 })).toMatchObject({ change: 'changed' });
  expect(await putPrices(flat, { bytesPerToken: 16 })).toEqual(refused('invalid_request', 'bytesPerToken'));
  expect(await putPrices(flat)).toMatchObject({ change: 'changed' });
  expect(await putModel('acme/refused', { bytesPerToken: 9 })).toEqual(refused('invalid_request', 'bytesPerToken'));
});

test('a sealed credential is kept if absent, removed by null, equal if repeated', async () => {
  const sealed = seal('sk-upstream', 'secret-source');
  const at = async (saved: { revision: number }) =>
    (await shown<CatalogSource>('source.secret-source', saved)).sealedCredential;
  const created = await accepted(putSource('secret-source', {}, sealed));
  expect(await at(created)).toBe(sealed);
  expect(await accepted(putSource('secret-source'))).toMatchObject({ change: 'unchanged' });
  expect(await accepted(putSource('secret-source', {}, sealed))).toMatchObject({ change: 'unchanged' });
  const other = seal('sk-other', 'secret-source');
  expect(await at(await accepted(putSource('secret-source', {}, other)))).toBe(other);
  expect(await at(await accepted(putSource('secret-source', {}, null)))).toBeNull();
});

test('an unsealed credential is refused', async () => {
  expect(await putSource('new-source', {}, 'sk-in-clear')).toEqual(refused('invalid_request', 'credential'));
});

const REPORTED = {
  sourceId: 'audited-a',
  modelId: 'audited/one',
  requests: 20,
  computedUsd: '1.00',
  reportedUsd: '2.00',
};

test('every command writes its actor and origin into the log', async () => {
  const commands: readonly (readonly [AnyRequest, object])[] = [
    [catalogPutProvider, { id: 'audited', spec: providerSpec() }],
    [catalogPutModel, { id: 'audited/one', spec: modelSpec() }],
    [catalogPutSource, { id: 'audited-a', spec: sourceSpec({ providerId: 'audited', modelId: 'audited/one' }) }],
    [catalogPutAlias, { id: 'audited-name', spec: { modelId: 'audited/one' } }],
    [catalogDelete, { kind: 'alias', id: 'audited-name' }],
    [catalogProposePrices, { proposal: { lists: [], changes: [], reported: [REPORTED] } }],
    [
      catalogApply,
      { objects: [{ kind: 'alias', id: 'audited-2', spec: { modelId: 'audited/one' } }], prune: false, dryRun: false },
    ],
  ];
  const known = MESSAGES.filter(
    (one) => one.servedBy.includes('catalog') && 'author' in (one.body as unknown as { shape: object }).shape,
  );
  expect(commands.map(([{ name }]) => name).sort()).toEqual(known.map(({ name }) => name).sort());
  for (const [message, body] of commands) {
    const origin = { ...AUTHOR.origin, requestId: message.name };
    await accepted(dashboard.request(message, { ...body, author: { ...AUTHOR, origin } }) as Promise<object>);
    const rows = await world.sql.query('SELECT actor, client, agent FROM changes WHERE request_id = $1', [
      message.name,
    ]);
    const { client, agent } = origin;
    expect([message.name, rows]).toEqual([message.name, [{ actor: AUTHOR.actor, client, agent }]]);
  }
});

test('stores each change with its author and without credentials', async () => {
  const rows = await world.sql.query<{ revision: bigint; author: object; text: string }>(
    `SELECT revision, concat(before, after) AS text, jsonb_build_object('actor', actor, 'origin',
            jsonb_build_object('client', client, 'agent', agent, 'requestId', request_id)) AS author
       FROM changes ORDER BY revision`,
  );
  const [state] = await world.sql.query<{ revision: bigint }>('SELECT revision FROM catalog_state');
  expect(rows.map((row) => row.revision)).toEqual(rows.map((_row, index) => BigInt(index + 1)));
  expect(rows.at(-1)?.revision).toBe(state?.revision);
  for (const { author } of rows)
    expect(author).toEqual({ ...AUTHOR, origin: { ...AUTHOR.origin, requestId: expect.any(String) } });
  expect(rows.filter((row) => row.text.includes('v2.') || row.text.includes('sealed'))).toEqual([]);
});

test('the largest source and the largest model fit into an entry of the bucket', async () => {
  const tier = (aboveInputTokens: number) => ({
    aboveInputTokens,
    ...Object.fromEntries(
      [
        'inputPerMillion',
        'cachedInputPerMillion',
        'cacheWritePerMillion',
        'cacheWrite1hPerMillion',
        'outputPerMillion',
      ].map((name) => [name, `899999${aboveInputTokens % 10}.999999999`]),
    ),
  });
  const figures = (n: number) => {
    const { aboveInputTokens: _none, ...base } = tier(n);
    return { ...base, tiers: Array.from({ length: 8 }, (_, index) => tier(99_999_000 + n * 10 + index)) };
  };
  const hours = (n: number) => new Date(Date.now() + n * 3_600_000).toISOString();
  const versions = [
    figures(0),
    ...Array.from({ length: 12 }, (_, n) => ({ ...figures(n + 1), effectiveFrom: hours(n + 1) })),
  ];
  const headers = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`x-${n}`, 'v'.repeat(1_000)]));
  for (const prices of versions) {
    await accepted(putModel('acme/largest', { prices, displayName: '\u{1f600}'.repeat(100) }));
    await accepted(putSource('largest', { costs: prices, headers }));
  }
  const full = { ...figures(20), effectiveFrom: hours(20) };
  expect(await putModel('acme/largest', { prices: full })).toEqual(refused('state_conflict', 'prices'));
  expect(
    await putSource('largest', {
      headers: {
        ...headers,
        ...Object.fromEntries(Array.from({ length: 3 }, (_, n) => [`y-${n}`, 'v'.repeat(1_000)])),
      },
    }),
  ).toEqual(refused('invalid_request', 'headers'));
  const saved = await accepted(putProvider('acme', { name: 'The last one' }));
  expect(await shown<CatalogSource>('source.largest', saved)).toMatchObject({ costs: { length: 13 } });
});

test('the service role cannot change or delete versions, changes and objects', async () => {
  const { pool } = world.database;
  for (const text of [
    'UPDATE price_versions SET figures = NULL',
    'DELETE FROM price_versions',
    'DELETE FROM changes',
    'UPDATE changes SET actor = actor',
    'UPDATE models SET created_at = now()',
    'DELETE FROM models',
  ])
    await expect(onPool(pool).execute(text)).rejects.toMatchObject({ code: '42501' });
});

test('the migrated schema matches schema.golden.txt (delete it to write a new one)', async () => {
  const schema = await dumpSchema(world.database.admin, 'catalog');
  if (!existsSync(GOLDEN) && process.env['CI'] === undefined) writeFileSync(GOLDEN, schema);
  expect(readFileSync(GOLDEN, 'utf8')).toBe(schema);
});
