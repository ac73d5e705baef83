import { beforeAll, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import { edgeHealth, type BodyOf } from '@gateway/contracts/messages';
import type { SourceView } from '@gateway/contracts/operator';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { accepted, operatorOn, type Operator } from '../../test/operator.js';
import { AUTHOR, PRICES } from '../../test/specs.js';
import { startCatalogWorld } from '../../test/catalog-world.js';

const world = duringTests(startCatalogWorld);
let operator: Operator;
let edge: Bus;

beforeAll(async () => {
  const [replica, dashboard, edgeBus] = await Promise.all([
    world.start(),
    world.connect('dashboard'),
    world.connect('edge-proxy'),
  ]);
  await until('ready', () => replica.ready.report().ready);
  operator = operatorOn(dashboard);
  edge = edgeBus;
});

const hour = (n: number) => new Date(Date.now() + n * 3_600_000).toISOString();
const refusedCursor = { refused: expect.objectContaining({ code: 'invalid_request', param: 'cursor' }) };
const notFound = { refused: expect.objectContaining({ code: 'not_found' }) };

/** Converts a source to the form of a PUT, without unset limits. */
function putForm(view: SourceView): object {
  const limits = Object.fromEntries(Object.entries(view.limits).filter(([, limit]) => limit !== null));
  return { ...view, limits };
}

test('an empty catalog has empty lists and no objects', async () => {
  expect(await operator.listProviders()).toEqual({ providers: [], nextCursor: null });
  expect(await operator.listModels()).toEqual({ models: [], onMessages: [], nextCursor: null });
  expect(await operator.listSources()).toEqual({ sources: [], nextCursor: null });
  expect(await operator.audit()).toEqual({ entries: [], nextCursor: null });
  expect(await operator.sourceHealth()).toEqual({ sources: [], nextCursor: null });
  expect(await operator.getProvider('none')).toEqual(notFound);
  expect(await operator.getModel('acme/none')).toEqual(notFound);
  expect(await operator.getSource('none')).toEqual(notFound);
});

test('GET returns the response of PUT, and a PUT of it changes nothing', async () => {
  const provider = await accepted(operator.putProvider('acme', { format: 'anthropic' }));
  await accepted(operator.putModel('acme/one', { prices: { ...PRICES, effectiveFrom: hour(1) } }));
  const model = await accepted(
    operator.putModel('acme/one', {
      contextLength: 1_000,
      prices: { ...PRICES, perCall: '0.01', tiers: [{ aboveInputTokens: 9, ...PRICES }] },
    }),
  );
  const plain = await accepted(operator.putSource('plain', { costs: PRICES }));
  const full = await accepted(
    operator.putSource('full', {
      paths: { '/v1/chat/completions': '/chat' },
      auth: { type: 'header', header: 'X-Key' },
      headers: { 'X-Team': 'a' },
      betas: 'pass',
      limits: { silenceTimeoutMs: 5_000 },
      quota: { requestsPerMinute: 60, tokensPerMinute: 1_000_000 },
      freeTools: ['local_*'],
      attachments: { imageTokens: 48_169 },
      reportedCostAt: { path: 'usage.cost', unit: 'usd' },
      enabled: false,
    }),
  );
  expect(full.source.freeTools).toEqual(['local_*']);
  expect(full.source.attachments).toEqual({ imageTokens: 48_169 });
  expect(full.source.reportedCostAt).toEqual({ path: 'usage.cost', unit: 'usd' });
  expect(full.source.quota).toEqual({ requestsPerMinute: 60, callsAtOnce: null, tokensPerMinute: 1_000_000 });
  expect(plain.source.auth).toEqual({ type: 'header', header: 'x-api-key' });
  expect(model.model).toMatchObject({
    prices: { perCall: '0.01' },
    upcomingPrices: [{ figures: { perCall: '0.00' } }],
  });
  expect(await operator.getProvider('acme')).toEqual({ provider: provider.provider });
  expect(await operator.getModel('acme/one')).toEqual({ model: model.model });
  expect(await operator.getSource('plain')).toEqual({ source: plain.source, revision: full.revision });

  const unchanged = { change: 'unchanged', revision: full.revision, inForce: true };
  expect(await operator.putProvider('acme', provider.provider)).toEqual({ ...provider, ...unchanged });
  expect(await operator.putModel('acme/one', model.model)).toEqual({ ...model, ...unchanged });
  expect(await operator.putSource('plain', putForm(plain.source))).toEqual({ ...plain, ...unchanged });
  expect(await operator.putSource('full', putForm(full.source))).toEqual({ ...full, ...unchanged });
});

test('lists return every object once, sorted by ID', async () => {
  for (const id of ['p3', 'P1', 'p10', 'p2']) await accepted(operator.putProvider(id));
  for (const id of ['acme/Two', 'b/one', 'acme/one:x']) await accepted(operator.putModel(id));
  for (const id of ['s2', 's1']) await accepted(operator.putSource(id, { modelId: 'b/one', costs: PRICES }));
  const providers: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Operator['listProviders']>> = await operator.listProviders({ cursor, limit: 2 });
    if ('refused' in page) throw new Error('refused');
    providers.push(...page.providers.map(({ id }) => id));
    cursor = page.nextCursor;
  } while (cursor !== null);
  expect(providers).toEqual(['P1', 'acme', 'p10', 'p2', 'p3']);
  const models = await accepted(operator.listModels({ limit: 4 }));
  expect(models.nextCursor).toBeNull();
  expect(models.models.map(({ id }) => id)).toEqual(['acme/Two', 'acme/one', 'acme/one:x', 'b/one']);
  expect(await operator.getModel('acme/one')).toEqual({ model: models.models[1] });
  const sources = await accepted(operator.listSources());
  expect(sources.sources.map(({ id }) => id)).toEqual(['full', 'plain', 's1', 's2']);
  expect((await accepted(operator.getSource('plain'))).source).toEqual(sources.sources[1]);
  const ofModel = await accepted(operator.listSources({ model: 'b/one', limit: 1 }));
  expect(ofModel.sources.map(({ id }) => id)).toEqual(['s1']);
  const rest = await accepted(operator.listSources({ model: 'b/one', cursor: ofModel.nextCursor }));
  expect(rest.sources).toMatchObject([{ id: 's2', costs: { outputPerMillion: '10.00' } }]);
  expect(rest.nextCursor).toBeNull();
});

test('a cursor of another list is refused', async () => {
  const { nextCursor } = await accepted(operator.listProviders({ limit: 1 }));
  expect(await operator.listProviders({ cursor: 'x' })).toEqual(refusedCursor);
  for (const list of ['listModels', 'listSources', 'audit', 'sourceHealth'] as const)
    expect(await operator[list]({ cursor: nextCursor })).toEqual(refusedCursor);
  const forged = Buffer.from(JSON.stringify(['audit', '1e400'])).toString('base64url');
  expect(await operator.audit({ cursor: forged })).toEqual(refusedCursor);
});

test('a page of very large objects ends early and the next one continues', async () => {
  const headers = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`x-${n}`, 'v'.repeat(1_000)]));
  for (let m = 0; m < 4; m += 1) {
    await accepted(operator.putModel(`large/m${m}`));
    for (let n = 0; n < 8; n += 1)
      await accepted(operator.putSource(`large-${m}-${n}`, { modelId: `large/m${m}`, headers }));
  }
  const ids: string[] = [];
  let pages = 0;
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Operator['listSources']>> = await operator.listSources({ cursor, limit: 200 });
    if ('refused' in page) throw new Error('refused');
    ids.push(...page.sources.map(({ id }) => id));
    cursor = page.nextCursor;
    pages += 1;
  } while (cursor !== null);
  expect(ids).toHaveLength(36);
  expect(new Set(ids).size).toBe(36);
  expect(pages).toBe(2);
});

test('the audit lists changes newest first, of one object or all, as views', async () => {
  const before = await accepted(operator.getProvider('acme'));
  const { provider, revision } = await accepted(operator.putProvider('acme', { format: 'anthropic', name: 'Renamed' }));
  const { entries, nextCursor } = await accepted(operator.audit({ limit: 1 }));
  expect(entries).toEqual([
    {
      id: `catalog.${revision}`,
      at: expect.any(String),
      ...AUTHOR,
      action: 'put_provider',
      accountId: null,
      objectId: 'acme',
      before: before.provider,
      after: provider,
    },
  ]);
  const next = await accepted(operator.audit({ limit: 1, cursor: nextCursor }));
  expect(next.entries[0]?.id).toBe(`catalog.${revision - 1}`);
  const ofModel = await accepted(operator.audit({ object: 'acme/one' }));
  const { model } = await accepted(operator.getModel('acme/one'));
  expect(ofModel.entries.map(({ action, before: was }) => [action, was === null])).toEqual([
    ['put_model', false],
    ['put_model', true],
  ]);
  expect(ofModel.entries[0]?.after).toEqual(model);
});

test('source health has the last report of each edge about existing sources', async () => {
  type Facts = BodyOf<typeof edgeHealth>['sources'][number];
  const facts = (source: string, more: Partial<Facts> = {}): Facts => ({
    source,
    failures: 0,
    coolUntil: 0,
    openUntil: 0,
    lastOutcome: 'completed',
    lastStatus: 200,
    lastAt: Date.now(),
    probing: false,
    answeredElsewhere: false,
    attempts: 0,
    errors: 0,
    firstByteMs: null,
    overQuota: 0,
    quota: null,
    ...more,
  });
  const openUntil = Date.now() + 60_000;
  const rested = facts('plain', { failures: 5, openUntil, lastOutcome: 'broken', lastStatus: null });
  edge.publish(edgeHealth, {}, { edge: 'e2', sources: [facts('plain'), facts('gone')] });
  edge.publish(edgeHealth, {}, { edge: 'e1', sources: [rested, facts('full')] });
  let seen = await accepted(operator.sourceHealth());
  await until(
    'both reports arrived',
    async () => (seen = await accepted(operator.sourceHealth())).sources.length === 3,
  );
  expect(seen.sources).toMatchObject([
    { sourceId: 'full', edge: 'e1', modelId: 'acme/one', state: 'healthy' },
    { sourceId: 'plain', edge: 'e1', state: 'open', failuresInARow: 5, restsUntil: new Date(openUntil).toISOString() },
    { sourceId: 'plain', edge: 'e2', state: 'healthy', restsUntil: null, lastStatus: 200 },
  ]);
  const first = await accepted(operator.sourceHealth({ limit: 2 }));
  const rest = await accepted(operator.sourceHealth({ limit: 2, cursor: first.nextCursor }));
  expect([...first.sources, ...rest.sources]).toEqual(seen.sources);
  expect(rest.nextCursor).toBeNull();
});
