import { afterAll, expect, test } from '@jest/globals';
import { startProviderSimulator } from '@gateway/provider-simulator';
import { Agent, request } from 'undici';
import { until } from '@gateway/testkit';
import { connectRedis, isEmpty, readLimitStore } from '../test/limit-store.js';
import { sharedSystem } from '../test/system.js';

const CALLS = 200;
const PAYS_FOR = 20;
const SLOTS = 500;

const agent = new Agent({ connections: CALLS });
const system = sharedSystem();
const simulator = await startProviderSimulator();
const redis = connectRedis(system.redisUrl);
afterAll(async () => {
  await agent.close();
  redis.disconnect();
  await simulator.close();
});

test(`${CALLS} parallel calls use up a wallet that pays for exactly ${PAYS_FOR}`, async () => {
  // If one admission is delayed, the other one may decide all requests. The race is then repeated.
  const until20s = performance.now() + 20_000;
  while (!(await race())) expect(performance.now()).toBeLessThan(until20s);
}, 60_000);

/** Runs one race. Returns whether every admission has decided some of the requests. */
async function race(): Promise<boolean> {
  const { account, secret } = await system.operator.account('0.20');
  await system.operator.limits(account, 100_000, SLOTS);
  // The price is per request only, so worst case and charge are the same cent, regardless of the
  // tokens.
  const model = await system.operator.model({ inputPerMillion: '0', outputPerMillion: '0', perCall: '0.01' }, [
    simulator.urls[0],
  ]);
  const upstream = `up-${model.id.slice(5)}`;
  // Admitted requests stay open until all are decided, so that the wallet has all their holds at
  // the same time.
  simulator.script({
    model: upstream,
    times: CALLS,
    steps: [{ waitFor: upstream }, { usage: { input: 10, output: 10 } }],
  });
  const decidedBefore = await decisions();
  const body = JSON.stringify({ model: model.id, messages: [{ role: 'user', content: 'hello' }] });
  let refused = 0;
  const calls = Array.from({ length: CALLS }, async (_, n) => {
    const answer = await request(`${system.edgeUrls[n % 2]}/v1/chat/completions`, {
      method: 'POST',
      dispatcher: agent,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body,
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) {
      refused += 1;
      expect([answer.statusCode, JSON.parse(text)]).toMatchObject([402, { error: { code: 'insufficient_credits' } }]);
    }
    return { status: answer.statusCode, id: String(answer.headers['x-gateway-request-id']) };
  });
  await until('all calls beyond the wallet are refused', () => refused === CALLS - PAYS_FOR);
  expect((await readLimitStore(redis, account)).slots).toBe(PAYS_FOR);
  const decided = await decisions();
  expect(decided).toHaveLength(2);
  simulator.release(upstream, PAYS_FOR);
  const answered = (await Promise.all(calls)).filter(({ status }) => status === 200);
  expect(answered).toHaveLength(PAYS_FOR);
  expect(simulator.calls({ model: upstream })).toHaveLength(PAYS_FOR);
  for (const { id } of answered) expect((await system.operator.record(id)).record.chargedUsd).toBe('0.01');
  expect(await system.operator.walletUsd(account)).toBe('0.00');
  await until('slots and holds are gone', async () => isEmpty(await readLimitStore(redis, account)));
  return decided.every((count, replica) => count > (decidedBefore[replica] ?? 0));
}

/** Returns the number of decisions of each admission since its start. */
function decisions(): Promise<number[]> {
  const urls = system.adminUrls['admission'] ?? [];
  return Promise.all(
    urls.map(async (url) => {
      const { body } = await request(`${url}/metrics`);
      const samples = (await body.text()).matchAll(/^gateway_admission_decisions_total\{[^}]*\} (\d+)$/gm);
      return [...samples].reduce((sum, [, count]) => sum + Number(count), 0);
    }),
  );
}
