// Catalog changes take effect on two edges and two admissions before the API responds. Both
// services keep their copy of the catalog while catalog or the bus is down.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { LocalSystem } from '@gateway/local';
import { parseUsd } from '@gateway/metering';
import { startProviderSimulator } from '@gateway/provider-simulator';
import type { ProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { chat, HELLO } from '../test/call.js';
import type { TestResponse } from '../test/call.js';
import { startLoad } from '../test/load.js';
import type { TestOperator } from '../test/operator.js';
import type { TestAccount } from '../test/operator.js';
import { PATIENT, startOwnSystem } from '../test/own-system.js';
import type { OwnSystem } from '../test/own-system.js';

const CHANGES = 8;
/** Price per request in USD after each change. */
const PER_CALL = Array.from({ length: CHANGES }, (_unused, n) => `0.0${n + 1}`);
/** Short, so that many requests are sent between two changes. */
const LOAD_PAUSE_MS = 10;
const DURATIONS = { ...PATIENT, GATEWAY_HEARTBEAT_MS: '500' };

interface ModelSaved {
  readonly priceVersion: string;
}

let own: OwnSystem;
let system: LocalSystem;
let operator: TestOperator;
let simulator: ProviderSimulator;

beforeAll(async () => {
  own = await startOwnSystem('gateway-catalog-', DURATIONS, { catalog: 2 });
  ({ operator, local: system } = own);
  simulator = await startProviderSimulator();
}, 60_000);
afterAll(async () => {
  await simulator?.close();
  await own?.stop();
}, 60_000);

// Covers catalog is down
test('a price change applies to all later calls, and in-flight calls keep their price', async () => {
  const account = await unlimited();
  const first = { inputPerMillion: '0', outputPerMillion: '0', perCall: '0.5' };
  const model = await operator.model(first, simulator.urls);
  // A script applies to the next request for its model, so the streams that are held open use a
  // separate model.
  const held = await operator.model(first, simulator.urls);
  const load = startLoad({ urls: edges(), model: model.id, callers: [account], atOnce: 2, pauseMs: LOAD_PAUSE_MS });
  for (const [n, perCall] of PER_CALL.entries()) {
    const before = await operator.must<ModelSaved>('GET', `/models/${held.id}`);
    const running = await openStream(held.id, `gate-${n}`);
    await putPrice(held.id, perCall);
    const saved = await putPrice(model.id, perCall);
    for (const answer of await callEverywhere(account, model.id)) {
      const record = await operator.usageRecord(answer.requestId);
      expect([record.priceVersion, parseUsd(record.chargedUsd)]).toEqual([saved.priceVersion, parseUsd(perCall)]);
    }
    const record = await operator.usageRecord((await running.finish()).requestId);
    expect([record.outcome, record.priceVersion]).toEqual(['settled', before.priceVersion]);
  }
  for (const seen of await load.stop()) expect(seen).toMatchObject({ status: 200, complete: true });
}, 120_000);

test('a changed source URL applies to all later calls; a disabled source gets none', async () => {
  const account = await unlimited();
  const model = await operator.model({ inputPerMillion: '1', outputPerMillion: '1' }, [simulator.urls[0]]);
  const [source] = model.sources;
  const spec = {
    modelId: model.id,
    providerId: 'e2e',
    upstreamModel: upstreamName(model.id),
    endpoints: ['/v1/chat/completions'],
  };
  const put = (change: object): Promise<object> => operator.putInForce(`/sources/${source}`, { ...spec, ...change });
  for (let n = 1; n <= CHANGES; n += 1) {
    const listener = n % 2;
    await put({ baseUrl: simulator.urls[listener] });
    const after = simulator.calls({ model: spec.upstreamModel }).at(-1)?.seq ?? 0;
    const answers = await callEverywhere(account, model.id);
    const calls = simulator.calls({ model: spec.upstreamModel, after });
    expect(new Set(calls.map((call) => call.listener))).toEqual(new Set([listener === 0 ? 'a' : 'b']));
    expect(calls).toHaveLength(answers.length);
  }
  await put({ baseUrl: simulator.urls[0], enabled: false });
  expect(await codes(account, model.id)).toEqual(['503 no_upstream_available']);
  await put({ baseUrl: simulator.urls[0], endpoints: ['/v1/responses'] });
  expect(await codes(account, model.id)).toEqual(['400 endpoint_not_supported_for_model']);
  await put({ baseUrl: simulator.urls[0] });
  expect(await codes(account, model.id)).toEqual(['200']);
  expect((await operator.request('DELETE', `/models/${model.id}`)).status).toBe(409);
  expect((await operator.request('DELETE', `/sources/${source}`)).status).toBe(204);
  expect(await codes(account, model.id)).toEqual(['503 no_upstream_available']);
}, 120_000);

test("changes to a model's switches and prices apply before the API responds", async () => {
  const account = await unlimited();
  const model = await operator.model({ inputPerMillion: '1', outputPerMillion: '1' }, [simulator.urls[0]]);
  const put = (change: object): Promise<object> =>
    operator.putInForce(`/models/${model.id}`, { displayName: 'switched', kind: 'chat', ...change });
  for (let n = 0; n < 3; n += 1) {
    await put({ available: false });
    expect(await codes(account, model.id)).toEqual(['400 model_not_available']);
    await put({ active: false });
    expect(await codes(account, model.id)).toEqual(['404 model_not_found']);
    await put({ prices: null });
    expect(await codes(account, model.id)).toEqual(['503 model_not_priced']);
    await put({ prices: { inputPerMillion: '1', outputPerMillion: '2' } });
    expect(await codes(account, model.id)).toEqual(['200']);
  }
}, 120_000);

test('edges and admissions recover from a bus that is killed or comes back empty', async () => {
  const account = await unlimited();
  const model = await operator.model({ inputPerMillion: '1', outputPerMillion: '1' }, simulator.urls);
  expect(await codes(account, model.id)).toEqual(['200']);
  for (const emptyState of [false, true]) {
    await system.servers.nats.restart?.({ kill: true, emptyState });
    await until('calls are served again', async () => (await codes(account, model.id)).join() === '200', 30_000);
    const saved = await until(
      'a change is in force again',
      async () => {
        const answer = await operator.request('PUT', `/models/${model.id}`, {
          displayName: `after ${emptyState ? 'an empty' : 'a'} restart`,
          kind: 'chat',
        });
        const body = answer.body as { inForce?: boolean };
        return answer.status === 200 && body.inForce === true && answer;
      },
      30_000,
    );
    expect(saved.status).toBe(200);
    const next = await operator.model({ inputPerMillion: '1', outputPerMillion: '1' }, simulator.urls);
    expect(await codes(account, next.id)).toEqual(['200']);
  }
}, 120_000);

function edges(): readonly string[] {
  return system.running().edgeUrls;
}

async function unlimited(): Promise<TestAccount> {
  const account = await operator.account('1000.00');
  await operator.limits(account.account, 1_000_000, 1_000);
  return account;
}

/** Returns the upstream name of a model that {@link TestOperator.model} created. */
function upstreamName(id: string): string {
  return `up-${id.slice('test/'.length)}`;
}

function putPrice(model: string, perCall: string): Promise<ModelSaved> {
  return operator.putInForce(`/models/${model}`, {
    displayName: 'priced',
    kind: 'chat',
    prices: { inputPerMillion: '0', outputPerMillion: '0', perCall },
  });
}

/**
 * Starts a stream of a new account that ends only at `finish()`. Resolves when the stream has its
 * slot.
 */
async function openStream(model: string, semaphore: string): Promise<{ finish(): Promise<TestResponse> }> {
  simulator.script({ model: upstreamName(model), times: 1, steps: [{ waitFor: semaphore }, { end: 'normal' }] });
  const own = await unlimited();
  const body = { model, messages: HELLO, stream: true };
  const answer = chat(`${edges()[0]}/v1/chat/completions`, own.secret, body);
  await operator.untilSlots(own.account, 1);
  return {
    async finish() {
      simulator.release(semaphore, 1);
      return answer;
    },
  };
}

/** Sends requests to all edges at the same time and expects a 200 for each. */
async function callEverywhere({ secret }: TestAccount, model: string): Promise<TestResponse[]> {
  const answers = await answersEverywhere(secret, model);
  for (const answer of answers) expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  return answers;
}

/** Returns the distinct responses of the edges: the status, and the code of an error. */
async function codes({ secret }: TestAccount, model: string): Promise<string[]> {
  const answers = await answersEverywhere(secret, model);
  return [...new Set(answers.map(({ status, text }) => `${status}${codeOf(text)}`))];
}

function answersEverywhere(secret: string, model: string): Promise<TestResponse[]> {
  const body = { model, messages: HELLO, max_tokens: 5 };
  return Promise.all(
    [...edges(), ...edges(), ...edges()].map((url) => chat(`${url}/v1/chat/completions`, secret, body)),
  );
}

function codeOf(text: string): string {
  const { error } = JSON.parse(text) as { error?: { code: string } };
  return error === undefined ? '' : ` ${error.code}`;
}
