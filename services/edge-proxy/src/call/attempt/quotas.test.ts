import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { CatalogSource } from '@gateway/contracts/messages';
import { counter } from '@gateway/service-kit';
import { until } from '@gateway/testkit';
import { send, type Answer } from '../../../test/client.js';
import { startCountingProvider, type CountingProvider } from '../../../test/counting-provider.js';
import { startEdgeWorld, type EdgeWorld } from '../../../test/edge-world.js';
import { publishOwnModel, type OwnModel } from '../../../test/own-models.js';
import { SOURCE_LABELS } from '../catalog-metrics.js';
import { LACKS } from '../../quotas/held-share.js';
import type { RunningEdge } from '../../service.js';

let world: EdgeWorld;
let other: RunningEdge;
let limited: CountingProvider;
let spare: CountingProvider;
beforeAll(async () => {
  world = await startEdgeWorld();
  other = await world.startAnother();
});
afterAll(() => world.stop(), 60_000);
beforeEach(async () => {
  [limited, spare] = await Promise.all([startCountingProvider(), startCountingProvider()]);
});
afterEach(() => Promise.all([limited.stop(), spare.stop()]));

const NONE = { requestsPerMinute: null, callsAtOnce: null, tokensPerMinute: null };

function publish(quota: Partial<NonNullable<CatalogSource['quota']>>, isAlone = false): Promise<OwnModel> {
  const first = { url: limited.url, more: { quota: { ...NONE, ...quota } } };
  return isAlone ? publishOwnModel(world, first) : publishOwnModel(world, first, { url: spare.url });
}

function ask({ model }: OwnModel, edge: Pick<RunningEdge, 'url'> = world.edge): Promise<Answer> {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Is it?' }], max_tokens: 20 });
  return send(edge.url, '/v1/chat/completions', { headers: { 'content-type': 'application/json' }, body });
}

/** Runs clients with sequential requests, half of them to each edge. */
async function load(model: OwnModel, clients: number, callsEach: number): Promise<number[]> {
  const statuses: number[] = [];
  const client = async (edge: Pick<RunningEdge, 'url'>): Promise<void> => {
    for (let call = 0; call < callsEach; call += 1) statuses.push((await ask(model, edge)).status);
  };
  await Promise.all(Array.from({ length: clients }, (_, at) => client(at % 2 === 0 ? world.edge : other)));
  return statuses;
}

/** Number of attempts that both edges sent without a share. */
function overQuota(source: string | undefined): number {
  const labels = { ...SOURCE_LABELS, lack: LACKS } as const;
  const help = 'Attempts sent without a share of the quota of the source because no other source was left';
  const cells = [...counter('gateway_edge_attempts_over_quota_total', help, labels).cells()];
  return cells.reduce((sum, { labels: of, cell }) => sum + (of.source === source ? cell.value : 0), 0);
}

test('two edges send at most the quota of requests a minute; the rest goes elsewhere', async () => {
  const model = await publish({ requestsPerMinute: 60 });
  const statuses: number[] = [];
  await until('most of the quota is used', async () => {
    statuses.push(...(await load(model, 16, 12)));
    return limited.requests >= 54;
  });
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
  expect(limited.requests).toBeLessThanOrEqual(60);
  expect(limited.requests + spare.requests).toBe(statuses.length);
});

test('two edges have at most the quota of concurrent calls at a source', async () => {
  const model = await publish({ callsAtOnce: 6 });
  limited.takesMs = 30;
  const statuses: number[] = [];
  await until('most of the quota is used and more is requested', async () => {
    statuses.push(...(await load(model, 24, 12)));
    return limited.runningMost >= 4 && spare.requests > 0;
  });
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
  expect(limited.runningMost).toBeLessThanOrEqual(6);
});

test('response tokens count: a source without quota for this minute is tried last', async () => {
  const model = await publish({ tokensPerMinute: 1_000 });
  for (let call = 0; call < 12; call += 1) await ask(model);
  // Each response has 120 tokens.
  expect([limited.requests, spare.requests]).toEqual([9, 3]);
});

test('a full source is tried and counted when all others have failed', async () => {
  const model = await publish({ requestsPerMinute: 2 });
  const [source] = model.ids;
  spare.status = 503;
  const before = world.healths.length;
  for (let call = 0; call < 3; call += 1) expect((await ask(model)).status).toBe(200);
  expect(limited.requests).toBe(3);
  expect(spare.requests).toBe(1);
  expect(overQuota(source)).toBe(1);
  await until('the health of the source is reported', () =>
    world.healths
      .slice(before)
      .some(({ sources }) => sources.some((each) => each.source === source && each.overQuota === 1)),
  );
});

test('a retry of a single source counts in its quota', async () => {
  const model = await publish({ requestsPerMinute: 1 }, true);
  limited.status = 429;
  expect((await ask(model)).status).toBe(429);
  expect(limited.requests).toBe(2);
  expect(overQuota(model.ids[0])).toBe(1);
});

test('a full source is used if it is the only one', async () => {
  const model = await publish({ requestsPerMinute: 1 }, true);
  for (let call = 0; call < 3; call += 1) expect((await ask(model)).status).toBe(200);
  expect(limited.requests).toBe(3);
  expect(overQuota(model.ids[0])).toBe(2);
});
