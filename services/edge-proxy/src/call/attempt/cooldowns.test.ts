import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { UsageEvent } from '@gateway/contracts/messages';
import { until } from '@gateway/testkit';
import { chat, send, type Answer } from '../../../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../../../test/edge-world.js';
import { sendHeartbeatReply } from '../../../test/fake-admission.js';
import { publishOwnModel, type OwnModel } from '../../../test/own-models.js';
import { COOL_DOWN_DEFAULT_MS, COOL_DOWN_MS_MAX } from '../../errors/judge-attempt.js';
import { BREAKER_FAILURES, BREAKER_OPEN_MS } from '../../sources/source-order.js';

const PATH = '/v1/chat/completions';
/** Time that the calls of a test may take while the clock runs. */
const MARGIN_MS = 4_000;

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld();
}, 60_000);
afterAll(() => world.stop(), 60_000);
afterEach(() => world.provider.clearScripts());

const twoSources = (): Promise<OwnModel> => {
  const [a, b] = world.provider.urls;
  return publishOwnModel(world, { url: a }, { url: b });
};
const ask = (model: OwnModel): Promise<Answer> => send(world.edge.url, PATH, chat({ model: model.model }));
const eventOf = (answer: Answer): Promise<UsageEvent> => world.eventOf(String(answer.headers['x-gateway-request-id']));

/** Returns the numbers of the sources that a call tries. */
async function triedBy(model: OwnModel): Promise<number[]> {
  const { attempts } = await eventOf(await ask(model));
  return attempts.map(({ source }) => model.ids.indexOf(source));
}

/** Advances the clock of admission. The edge adopts it from the next reply. */
async function pass(ms: number): Promise<void> {
  world.admission.clockOffsetMs += ms;
  await send(world.edge.url, PATH, chat());
}

function failing(model: OwnModel, status: number, times: number, headers: Record<string, string> = {}): void {
  world.provider.script({ model: model.upstreamModel, listener: 'a', times, steps: [{ status, headers }] });
}

test.each([
  ['seconds', '60', 60_000],
  ['more than ten minutes', '7200', COOL_DOWN_MS_MAX],
  ['nothing', undefined, COOL_DOWN_DEFAULT_MS],
])('a 429 with %s starts a cooldown: the source is tried last, not skipped', async (_name, header, ms) => {
  const model = await twoSources();
  failing(model, 429, 1, header === undefined ? {} : { 'retry-after': header });
  expect(await triedBy(model)).toEqual([0, 1]);
  expect(await triedBy(model)).toEqual([1]);
  world.provider.script({ model: model.upstreamModel, listener: 'b', steps: [{ status: 503 }] });
  expect(await triedBy(model)).toEqual([1, 0]);
  await pass(ms - MARGIN_MS);
  expect(await triedBy(model)).toEqual([1]);
  await pass(MARGIN_MS);
  expect(await triedBy(model)).toEqual([0]);
});

test('a 429 does not open the breaker', async () => {
  const model = await twoSources();
  for (let round = 0; round <= BREAKER_FAILURES; round += 1) {
    failing(model, 429, 1, { 'retry-after': '1' });
    expect(await triedBy(model)).toEqual([0, 1]);
    await pass(1_000);
  }
});

test('a flapping source is probed once per period and used again when healthy', async () => {
  const model = await twoSources();
  failing(model, 503, 1_000);
  for (let call = 0; call < BREAKER_FAILURES; call += 1) expect(await triedBy(model)).toEqual([0, 1]);
  for (let period = 0; period < 3; period += 1) {
    for (let call = 0; call < 5; call += 1) expect(await triedBy(model)).toEqual([1]);
    await pass(BREAKER_OPEN_MS);
    const tried = await Promise.all(Array.from({ length: 10 }, () => triedBy(model)));
    expect(tried.filter((each) => each.includes(0))).toEqual([[0, 1]]);
  }
  world.provider.clearScripts(model.upstreamModel);
  expect(await triedBy(model)).toEqual([1]);
  await pass(BREAKER_OPEN_MS);
  expect(await triedBy(model)).toEqual([0]);
  expect(await triedBy(model)).toEqual([0]);
});

test('calls ended by a heartbeat reply do not affect the health of their source', async () => {
  const model = await twoSources();
  world.provider.script({ model: model.upstreamModel, times: BREAKER_FAILURES, steps: [{ end: 'stall' }] });
  const calls = Array.from({ length: BREAKER_FAILURES }, () => ask(model));
  await until('the provider has them', () => world.provider.calls({ model: model.upstreamModel }).length === 5);
  const ids = world.admission.admits.filter(({ entry }) => entry.model === model.model).map(({ entry }) => entry.id);
  const namesAll = (): boolean =>
    ids.every((id) => world.admission.heartbeats.at(-1)?.calls.some((call) => call.id === id));
  await until('a heartbeat names them', namesAll);
  const heartbeat = world.admission.heartbeats.at(-1);
  const [bus] = world.admissionBuses;
  if (heartbeat === undefined || bus === undefined) throw new Error('there is no heartbeat');
  sendHeartbeatReply(bus, world.admission, heartbeat, { abort: ids });
  for (const answer of await Promise.all(calls)) {
    expect(answer.status).toBe(403);
    expect(await eventOf(answer)).toMatchObject({
      outcome: 'voided',
      attempts: [{ outcome: 'abandoned', possiblyPaid: true }],
    });
  }
  expect(await triedBy(model)).toEqual([0]);
});

test('a call in an outage tries each source once, with and without an open breaker', async () => {
  const [a, b] = world.provider.urls;
  const model = await publishOwnModel(world, ...Array.from({ length: 8 }, (_, at) => ({ url: at % 2 ? b : a })));
  world.provider.script({ model: model.upstreamModel, times: 1_000, steps: [{ status: 503 }] });
  for (let call = 0; call < BREAKER_FAILURES + 2; call += 1) {
    const answer = await ask(model);
    expect([answer.status, JSON.parse(answer.body.toString()).error.code]).toEqual([503, 'upstream_error']);
    const { attempts } = await eventOf(answer);
    expect(attempts.map(({ source }) => source).sort()).toEqual([...model.ids].sort());
  }
});

test('the edge reports a cooldown and its catalog revision to the catalog', async () => {
  const model = await twoSources();
  failing(model, 429, 1, { 'retry-after': '60' });
  await ask(model);
  const told = () => world.healths.at(-1)?.sources.find(({ source }) => source === model.ids[0]);
  await until('the cooldown is reported', () => (told()?.coolUntil ?? 0) > Date.now());
  expect(told()).toMatchObject({ failures: 0, openUntil: 0, lastOutcome: 'rejected', lastStatus: 429 });
  await until('the revision is reported', () => world.mirrored.at(-1)?.revision === world.revision());
  expect(world.mirrored.at(-1)).toMatchObject({
    replica: expect.stringMatching(/^edge-proxy\.e0\.[0-9a-f]{8}$/),
    last: false,
  });
});
