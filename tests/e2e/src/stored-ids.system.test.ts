import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connectBus, type Bus } from '@gateway/bus';
import { RESPONSE_IDS_BUCKET } from '@gateway/contracts/messages';
import { startProviderSimulator, type ProviderSimulator } from '@gateway/provider-simulator';
import { changeUrl } from '@gateway/service-kit';
import { recordingLog, until } from '@gateway/testkit';
import { chat, type TestResponse } from '../test/call.js';
import type { TestAccount, TestModel } from '../test/operator.js';
import { startOwnSystem, type OwnSystem } from '../test/own-system.js';

/** Responses of other accounts in the store, with five IDs each. The full run has 200,000. */
const RESPONSES = Number(process.env['GATEWAY_STORED_RESPONSES'] ?? 2_000);
const IDS_EACH = 5;
const WRITES_AT_ONCE = 256;
const STORE_MS = 10_000;
/** NATS elects a leader in 4 to 9 s, and takes longer on a busy machine. */
const SERVED_WITHIN_MS = 60_000;

let system: OwnSystem;
let provider: ProviderSimulator;
let model: TestModel;
let [owner, other] = [undefined, undefined] as unknown as [TestAccount, TestAccount];
let bus: Bus;
beforeAll(async () => {
  system = await startOwnSystem('stored-ids', {}, {}, { ha: true });
  const { local, operator } = system;
  provider = await startProviderSimulator();
  const prices = { inputPerMillion: '1.00', outputPerMillion: '2.00' };
  model = await operator.model(prices, [provider.urls[0]], { profile: 'openai', endpoints: ['/v1/responses'] });
  owner = await operator.account('10.00');
  other = await operator.account('10.00');
  for (const { account } of [owner, other]) await operator.limits(account, 10_000, 100);
  const url = changeUrl(local.servers.nats.url, (own) =>
    Object.assign(own, { username: 'edge-proxy', password: local.secrets.busPasswords['edge-proxy'] }),
  );
  bus = await connectBus({ url, service: 'edge-proxy', replica: 'test', log: recordingLog(), bucketReplicas: 3 });
}, 240_000);
afterAll(async () => {
  await bus?.drain(1_000);
  await provider?.close();
  await system?.stop();
}, 120_000);

/** Sends a request to one of the two edges. */
function ask(edge: 0 | 1, { secret }: TestAccount, fields: object = {}): Promise<TestResponse> {
  const url = `${system.local.running().edgeUrls[edge]}/v1/responses`;
  return chat(url, secret, { model: model.id, input: 'Say something.', ...fields });
}

/** Repeats a request until the gateway decides it: it returns 500 while servers are replaced. */
async function decided(edge: 0 | 1, account: TestAccount, fields: object): Promise<TestResponse> {
  let answer = await ask(edge, account, fields);
  await until(
    'the gateway decides',
    async () => {
      if (answer.status < 500) return true;
      answer = await ask(edge, account, fields);
      return false;
    },
    SERVED_WITHIN_MS,
  );
  return answer;
}

const responseOf = ({ text }: TestResponse): string => /"id":"(resp_[^"]+)"/.exec(text)?.[1] ?? '';
const itemOf = ({ text }: TestResponse): string => /"id":"(msg_[^"]+)"/.exec(text)?.[1] ?? '';

function natsPids(): number[] {
  const members = Object.entries(system.local.members).filter(([name]) => name.startsWith('nats'));
  return members.flatMap(([, { pid }]) => pid ?? []);
}

test(
  `a response is continued after ${RESPONSES} others and a lost NATS server`,
  async () => {
    const first = await decided(0, owner, {});
    await fill(RESPONSES * IDS_EACH);
    const [victim] = natsPids();
    if (victim === undefined) throw new Error('there is no NATS server');
    process.kill(victim, 'SIGKILL');
    // The other edge finds the response by its ID and by the ID of its item.
    expect((await decided(1, owner, { previous_response_id: responseOf(first) })).status).toBe(200);
    const item = { type: 'item_reference', id: itemOf(first) };
    expect((await decided(1, owner, { input: [item] })).status).toBe(200);

    const sent = provider.calls().length;
    for (const edge of [0, 1] as const) {
      const foreign = await decided(edge, other, { previous_response_id: responseOf(first) });
      expect([foreign.status, JSON.parse(foreign.text)]).toMatchObject([
        400,
        { error: { message: `Previous response with id '${responseOf(first)}' not found.` } },
      ]);
    }
    expect(provider.calls()).toHaveLength(sent);
  },
  120_000 + RESPONSES * 5,
);

test('a follow-up without NATS returns 500 and does not reach the provider', async () => {
  const first = await decided(0, owner, {});
  const sent = provider.calls().length;
  await until('all servers run', () => natsPids().length === 3, SERVED_WITHIN_MS);
  const pids = natsPids();
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  try {
    expect((await ask(1, owner, { previous_response_id: responseOf(first) })).status).toBe(500);
    expect(provider.calls()).toHaveLength(sent);
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT');
  }
  expect((await decided(1, owner, { previous_response_id: responseOf(first) })).status).toBe(200);
}, 180_000);

/**
 * Stores this number of IDs in the same way as edges, and prints how long a write and a read take.
 */
async function fill(ids: number): Promise<void> {
  const { name, ageMaxMs, entryBytesMax, entriesDefault: entriesMax } = RESPONSE_IDS_BUCKET;
  const bucket = bus.lookUpBucket({ name, ageMaxMs, bytesMax: entriesMax * entryBytesMax, entriesMax });
  const keys = Array.from({ length: ids }, () => randomBytes(16).toString('base64url'));
  const writeMs = await timed(keys, (key) => bucket.put(key, model.sources[0] ?? '', STORE_MS));
  const readMs = await timed(keys.slice(0, 2_000), (key) => bucket.get(key, STORE_MS));
  process.stdout.write(`${ids} IDs: ${writeMs} ms a write, ${readMs} ms a read, ${WRITES_AT_ONCE} at once\n`);
  expect(await bucket.entries(STORE_MS)).toBeGreaterThanOrEqual(ids);
}

/**
 * Returns the milliseconds per operation. A failed operation is repeated, as edges do, because a
 * busy server misses pings.
 */
async function timed(keys: readonly string[], work: (key: string) => Promise<unknown>): Promise<string> {
  const begunAt = performance.now();
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let key = keys[next++]; key !== undefined; key = keys[next++]) {
      const own = key;
      await until(
        'the store works',
        () =>
          work(own).then(
            () => true,
            () => false,
          ),
        SERVED_WITHIN_MS,
      );
    }
  };
  await Promise.all(Array.from({ length: WRITES_AT_ONCE }, worker));
  return ((performance.now() - begunAt) / keys.length).toFixed(3);
}
