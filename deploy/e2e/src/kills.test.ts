import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { LocalSystem, ProcessName } from '@gateway/local';
import { timeOfUuidV7 } from '@gateway/contracts/ids';
import { parseUsd } from '@gateway/metering';
import { until } from '@gateway/testkit';
import { HELLO, chat, get } from '../test/call.js';
import { connectRedis, isEmpty, readGate } from '../test/gate.js';
import { startLoad } from '../test/load.js';
import type { Seen } from '../test/load.js';
import type { TestOperator } from '../test/operator.js';
import { SHORT_DURATIONS, startOwnSystem } from '../test/own-system.js';
import type { OwnSystem } from '../test/own-system.js';
import { chargeOf, PRICES } from '../test/prices.js';

const ACCOUNTS = 6;
const CREDIT_USD = '1000.00';
/** Complete answers between two kills: the load is alive again. */
const CALLS_BETWEEN = 30;
/** Longest time for catalog to stop. */
const STOP_MS = 10_000;

let own: OwnSystem;
let system: LocalSystem;
let operator: TestOperator;
beforeAll(async () => {
  own = await startOwnSystem('gateway-kills-', SHORT_DURATIONS);
  ({ operator, local: system } = own);
}, 60_000);
afterAll(async () => {
  await own?.stop();
}, 60_000);

test('edge, admission, billing and catalog killed in turn under load: every complete answer is charged once and exactly, nothing stays held', async () => {
  const callers = await Promise.all(
    Array.from({ length: ACCOUNTS }, async () => {
      const account = await operator.account(CREDIT_USD);
      await operator.limits(account.account, 1_000_000, 50);
      return account;
    }),
  );
  const { edgeUrls, providerUrls } = system.running();
  const model = await operator.model(PRICES, providerUrls);
  const kills: string[] = [];
  const load = startLoad({ urls: edgeUrls, model: model.id, callers, atOnce: 3 });

  for (const name of ['edge-proxy', 'admission', 'billing', 'catalog'] as const satisfies readonly ProcessName[]) {
    await moreCompleteAnswers(load.seen);
    kills.push(`${name} at ${new Date().toISOString()}`);
    await killFirst(name);
  }
  await moreCompleteAnswers(load.seen);
  const seen = await load.stop();

  await expectExactCharges(seen, kills);
  const redis = connectRedis(system.servers.redis.url);
  for (const { account } of callers) {
    await until(`slots and holds of ${account} are gone`, async () => isEmpty(await readGate(redis, account)), 30_000);
    const { total } = await operator.chargedRecords(account);
    expect(parseUsd((await operator.walletUsd(account)) ?? '')).toBe(parseUsd(CREDIT_USD) - total);
  }
  redis.disconnect();
}, 120_000);

test('while catalog is away calls go on, and an edge and an admission that start meanwhile serve from the published catalog', async () => {
  const { account, secret } = await operator.account(CREDIT_USD);
  const { edgeUrls, providerUrls } = system.running();
  const model = await operator.model(PRICES, providerUrls);
  const callEveryEdge = async (): Promise<void> => {
    for (const url of edgeUrls) {
      const answer = await chat(`${url}/v1/chat/completions`, secret, { model: model.id, messages: HELLO });
      expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"usage"')]);
      const { record } = await operator.record(answer.requestId);
      expect([record.outcome, record.evidence]).toEqual(['settled', 'reported']);
      expect(parseUsd(record.chargedUsd)).toBeGreaterThan(0n);
      const listed = JSON.parse((await get(`${url}/v1/models`, secret)).text) as { data: { id: string }[] };
      expect(listed.data.map(({ id }) => id)).toContain(model.id);
    }
  };
  await until('both edges know the model', async () => {
    const lists = await Promise.all(edgeUrls.map((url) => get(`${url}/v1/models`, secret)));
    return lists.every(({ text }) => text.includes(model.id));
  });
  const [catalog] = system.children('catalog');
  await catalog?.stop(STOP_MS);
  expect(catalog?.pid).toBeNull();
  await callEveryEdge();
  await killFirst('edge-proxy');
  await killFirst('admission');
  await callEveryEdge();
  expect(catalog?.pid).toBeNull();

  await catalog?.start();
  const next = await operator.model(PRICES, providerUrls);
  await until('a model that is saved afterwards is served', async () => {
    const body = { model: next.id, messages: HELLO };
    return (await chat(`${edgeUrls[0]}/v1/chat/completions`, secret, body)).status === 200;
  });
  const redis = connectRedis(system.servers.redis.url);
  await until('slots and holds are gone', async () => isEmpty(await readGate(redis, account)), 30_000);
  redis.disconnect();
}, 120_000);

/** Kills the first process of a name and waits until another one is ready in its place. */
async function killFirst(name: ProcessName): Promise<void> {
  const [victim] = system.children(name);
  const pid = victim?.pid;
  victim?.kill('SIGKILL');
  await until(`${name} is another process`, () => victim?.pid != null && victim.pid !== pid);
  await victim?.ready();
}

async function moreCompleteAnswers(seen: readonly Seen[]): Promise<void> {
  const before = seen.filter((call) => call.complete).length;
  await until(
    'calls are answered',
    () => seen.filter((call) => call.complete).length >= before + CALLS_BETWEEN,
    20_000,
  );
}

async function expectExactCharges(seen: readonly Seen[], kills: readonly string[]): Promise<void> {
  const complete = seen.filter((call) => call.complete);
  expect(new Set(complete.map((call) => call.requestId)).size).toBe(complete.length);
  for (const call of complete) {
    const { record } = await operator.record(call.requestId ?? '', 20_000).catch((error: Error) => {
      const began = new Date(timeOfUuidV7(call.requestId ?? '')).toISOString();
      throw new Error(
        `${error.message}: began ${began}, seen complete by ${call.endedAt}; killed: ${kills.join(', ')}`,
      );
    });
    const charge = chargeOf(call.usage ?? { prompt_tokens: -1, completion_tokens: -1 });
    expect([call.requestId, record.outcome, parseUsd(record.chargedUsd)]).toEqual([call.requestId, 'settled', charge]);
  }
  for (const call of seen.filter((other) => !other.complete && other.requestId !== null && other.status !== 200)) {
    const found = await operator.findRecord(call.requestId ?? '');
    expect([call.requestId, found?.record.chargedUsd ?? '0.00']).toEqual([call.requestId, '0.00']);
  }
}
