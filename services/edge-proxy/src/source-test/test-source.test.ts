import { beforeAll, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import { ENDPOINTS, SOURCE_TEST_WAIT_MS_MAX, edgeTestSource, type CatalogSource } from '@gateway/contracts/messages';
import { isRefusal, type SourceTestView } from '@gateway/contracts/operator';
import type { CallRecord } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { TEST_PRICE } from '../../test/fake-admission.js';
import { SOURCE_CREDENTIAL, sealCredential, sourceEntry, startEdgeWorld } from '../../test/edge-world.js';
import { type SourceTestParts, SourceTests } from './test-source.js';

const UPSTREAM = 'upstream-model';

const world = duringTests(() => startEdgeWorld());
let dashboard: Bus;
let number = 0;

beforeAll(async () => {
  dashboard = await world.connect('dashboard');
}, 60_000);

/** Publishes a disabled source, which receives no client calls. */
async function newSource(more: Partial<CatalogSource> = {}): Promise<string> {
  number += 1;
  const id = `tested-${number}`;
  await world.publishCatalog(
    ({ sources }) => void sources.push(sourceEntry(id, world.provider.urls[0], { enabled: false, ...more, id })),
  );
  return id;
}

/** Requests a test with the catalog that was published last, which the edge may not have yet. */
const request = (source: string) => dashboard.request(edgeTestSource, { source, revision: world.revision() });

async function tested(source: string): Promise<SourceTestView> {
  const answer = await request(source);
  if (isRefusal(answer)) throw new Error(answer.refused.message);
  return answer.test;
}

const bodyOf = (call: CallRecord | undefined): Record<string, unknown> =>
  JSON.parse(String(call?.body)) as Record<string, unknown>;

const CHAT: Partial<CatalogSource> = { endpoints: ['/v1/chat/completions'] };

test("every endpoint is called like a client's call, with usage, cost and price", async () => {
  const costs = [{ version: 'cost', effectiveFrom: 0, figures: TEST_PRICE.figures }];
  const id = await newSource({ endpoints: [...ENDPOINTS], costs });
  const before = world.provider.calls().length;
  const test = await tested(id);
  expect(test).toMatchObject({ sourceId: id, works: true, problem: null });
  expect(test.calls.map(({ endpoint, streamed, finding }) => [endpoint, streamed, finding])).toEqual([
    ['/v1/chat/completions', false, 'works'],
    ['/v1/chat/completions', true, 'works'],
    ['/v1/completions', false, 'works'],
    ['/v1/messages', false, 'works'],
    ['/v1/messages/count_tokens', false, 'works'],
    ['/v1/embeddings', false, 'works'],
    ['/v1/responses', false, 'works'],
  ]);
  for (const { endpoint, usage, costUsd, priceUsd, status, totalMs, firstByteMs } of test.calls) {
    const isCounted = endpoint !== '/v1/messages/count_tokens';
    expect({ endpoint, status, counted: usage !== null }).toEqual({ endpoint, status: 200, counted: isCounted });
    expect(costUsd).toEqual(isCounted ? expect.stringMatching(/^0\.0*[1-9]/) : null);
    expect(priceUsd).toBe(costUsd);
    expect(totalMs).toBeGreaterThanOrEqual(firstByteMs ?? Infinity);
  }
  const calls = world.provider.calls().slice(before);
  expect(calls).toHaveLength(7);
  expect(calls.map((call) => bodyOf(call)['model'])).toEqual(calls.map(() => UPSTREAM));
  expect(bodyOf(calls[1])).toMatchObject({ stream: true, stream_options: { include_usage: true } });
});

test('a test with any result leaves no admission, record or health', async () => {
  const seen = () => [world.events.length, world.admission.batches.length, world.admission.releases.length];
  const before = seen();
  const id = await newSource({ ...CHAT, sealedCredential: sealCredential('a-wrong-key', `tested-${number + 1}`) });
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const { works, calls } = await tested(id);
    expect([works, calls.map(({ finding }) => finding)]).toEqual([false, ['credential', 'credential']]);
    expect(JSON.stringify(calls)).not.toContain('a-wrong-key');
  }
  expect(seen()).toEqual(before);
  expect(world.healths.flatMap(({ sources }) => sources).filter(({ source }) => source === id)).toEqual([]);
});

test('a model that requires the other limit field is tested with it', async () => {
  const id = await newSource(CHAT);
  const error = { error: { message: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead." } };
  world.provider.script({ model: UPSTREAM, steps: [{ status: 400 }, { chunk: JSON.stringify(error) }] });
  const before = world.provider.calls().length;
  expect(await tested(id)).toMatchObject({ works: true });
  const bodies = world.provider
    .calls()
    .slice(before)
    .map((call) => Object.keys(bodyOf(call)));
  expect(bodies[1]).toContain('max_completion_tokens');
});

test("a provider's error text is shown without credentials and addresses", async () => {
  const id = await newSource(CHAT);
  const message = `No access for ${SOURCE_CREDENTIAL} at https://inner.example/v1`;
  world.provider.script({
    model: UPSTREAM,
    times: 2,
    steps: [{ status: 403 }, { chunk: JSON.stringify({ error: { message } }) }],
  });
  const { calls } = await tested(id);
  expect(calls[0]).toMatchObject({
    finding: 'forbidden',
    status: 403,
    providerText: 'No access for [removed] at [removed]',
  });
});

test('no further call is made to an unreachable address', async () => {
  const id = await newSource({ baseUrl: 'http://127.0.0.1:1' });
  const { calls } = await tested(id);
  expect(calls.map(({ finding }) => finding)).toEqual(['address', ...calls.slice(1).map(() => 'untried')]);
  expect(calls[0]?.text).toContain('ECONNREFUSED');
});

test('an unreadable credential is reported, and an unknown source is refused', async () => {
  const id = await newSource({ ...CHAT, sealedCredential: sealCredential('key', 'elsewhere') });
  expect(await tested(id)).toMatchObject({
    works: false,
    calls: [],
    problem: expect.stringContaining('enter it again'),
  });
  const unknown = await request('unknown');
  expect(unknown).toEqual({ refused: expect.objectContaining({ code: 'not_in_force' }) });
});

test('a test is refused when the edge does not get the revision in time', async () => {
  let nowMs = 0;
  const tests = new SourceTests({
    edge: { catalog: { revision: () => 4 }, deadlines: { nowMs: () => (nowMs += SOURCE_TEST_WAIT_MS_MAX / 2) } },
    edgeId: 'edge',
  } as unknown as SourceTestParts);
  for (let attempt = 0; attempt < 2; attempt += 1)
    expect(await tests.test('source', 5)).toEqual({ refused: expect.objectContaining({ code: 'not_in_force' }) });
});

test('a source is tested once at a time, and the rate is limited', async () => {
  const id = await newSource(CHAT);
  const slow = await newSource(CHAT);
  world.provider.script({ model: UPSTREAM, steps: [{ waitFor: 'tested' }, { usage: { input: 1, output: 1 } }] });
  const first = tested(slow);
  await until('the test is running', async () => isRefusal(await request(slow)));
  expect(await request(slow)).toEqual({
    refused: expect.objectContaining({ code: 'state_conflict' }),
  });
  world.provider.release('tested');
  expect(await first).toMatchObject({ works: true });
  // The limit reads the real clock, so a slow machine gets some more permits.
  let allowed = 0;
  for (; allowed < 100; allowed += 1) {
    const answer = await request(id);
    if (isRefusal(answer)) break;
  }
  expect(allowed).toBeGreaterThanOrEqual(20);
  expect(await request(id)).toEqual({
    refused: expect.objectContaining({ code: 'too_many_attempts' }),
  });
});

test("a source without a credential is tested with its provider's current one", async () => {
  const id = await newSource({ ...CHAT, provider: 'shared', sealedCredential: null });
  expect((await tested(id)).calls[0]).toMatchObject({
    finding: 'credential',
    text: expect.stringContaining('has none'),
  });
  const give = async (text: string) => {
    const sealedCredential = sealCredential(text, 'provider:shared');
    await world.publishCatalog(({ providers }) => {
      providers.splice(0, 1, { v: 1, id: 'shared', name: 'Shared', format: 'openai', sealedCredential });
    });
    return tested(id);
  };
  expect((await give('a-wrong-one')).calls[0]).toMatchObject({
    finding: 'credential',
    text: expect.stringContaining('refuses the credential'),
  });
  expect(await give(SOURCE_CREDENTIAL)).toMatchObject({ works: true });
});
