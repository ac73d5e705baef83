import { afterAll, expect, test } from '@jest/globals';
import { DEFAULT_KEY_PREFIX, makeSecret } from '@gateway/contracts/ids';
import { modelList, usageObject } from '@gateway/contracts/public';
import type { ModelList, UsageObject } from '@gateway/contracts/public';
import { startProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { HELLO, chat, get } from '../test/call.js';
import { sharedSystem } from '../test/system.js';

const PRICES = { inputPerMillion: '2.50', outputPerMillion: '10.00', perCall: '0.25' };

const system = sharedSystem();
const simulator = await startProviderSimulator();
afterAll(() => simulator.close());

async function usageOf(secret: string): Promise<UsageObject> {
  const answer = await get(`${system.chatBaseUrl}/gateway/usage`, secret);
  expect(answer.status).toBe(200);
  return usageObject.strict().parse(JSON.parse(answer.text));
}

async function modelsOf(secret: string): Promise<ModelList['data']> {
  const answer = await get(`${system.chatBaseUrl}/models`, secret);
  expect(answer.status).toBe(200);
  return modelList.strict().parse(JSON.parse(answer.text)).data;
}

test('the usage endpoint shows the settled wallet balance and the key', async () => {
  const model = await system.operator.model(PRICES, [simulator.urls[0]]);
  const { account, secret } = await system.operator.account('5.00', { capUsd: '3.5', allowedModels: [model.id] });
  expect(await usageOf(secret)).toEqual({
    object: 'gateway.usage',
    plan: null,
    windows: [],
    wallet: { balanceUsd: 5 },
    key: { monthlySpendCapUsd: 3.5, allowedModels: [model.id] },
  });
  const upstream = `up-${model.id.slice(5)}`;
  simulator.script({
    model: upstream,
    steps: [{ waitFor: upstream }, { usage: { input: 100_000, output: 10_000 } }],
  });
  const answer = chat(`${system.chatBaseUrl}/chat/completions`, secret, { model: model.id, messages: HELLO });
  await until('the provider has the request', () => simulator.calls({ model: upstream }).length === 1);
  // The balance does not show holds of running requests.
  expect((await usageOf(secret)).wallet).toEqual({ balanceUsd: 5 });
  simulator.release(upstream);
  const { record } = await system.operator.record((await answer).requestId);
  expect(record.chargedUsd).toBe('0.60');
  expect(await system.operator.walletUsd(account)).toBe('4.40');
  await until('the limit store has the charge', async () => (await usageOf(secret)).wallet?.balanceUsd === 4.4);

  const open = await system.operator.key(account);
  expect((await usageOf(open.secret)).key).toEqual({ monthlySpendCapUsd: null, allowedModels: null });
});

test('requests for usage and models do not count toward the minute limit', async () => {
  const { account, secret } = await system.operator.account('5.00');
  await system.operator.limits(account, 1, 1);
  for (let n = 0; n < 5; n += 1) {
    await usageOf(secret);
    await modelsOf(secret);
  }
  const model = await system.operator.model(PRICES, [simulator.urls[0]]);
  const answer = await chat(`${system.chatBaseUrl}/chat/completions`, secret, { model: model.id, messages: HELLO });
  expect(answer.status).toBe(200);
});

test('the model list contains allowed and priced models if the account has funds', async () => {
  const [one, other, unpriced] = [
    await system.operator.model(PRICES, [simulator.urls[0]]),
    await system.operator.model(PRICES, [simulator.urls[0]]),
    await system.operator.model(null, [simulator.urls[0]]),
  ];
  const { account, secret } = await system.operator.account('5.00');
  const narrow = await system.operator.key(account, { allowedModels: [other.id, unpriced.id] });
  // The list comes from the edge's mirror of the catalog, which is updated a moment later.
  const all = await until('both models are listed', async () => {
    const models = await modelsOf(secret);
    return [one, other].every(({ id }) => models.some((entry) => entry.id === id)) && models;
  });
  expect(all.map(({ id }) => id)).not.toContain(unpriced.id);
  expect(all.find(({ id }) => id === one.id)).toMatchObject({
    object: 'model',
    owned_by: 'test',
    endpoints: ['/v1/chat/completions'],
    pricing: { input: '2.50', output: '10.00', per_call: '0.25' },
  });
  expect((await modelsOf(narrow.secret)).map(({ id }) => id)).toEqual([other.id]);

  await system.operator.credit(account, '-5.00');
  expect(await modelsOf(secret)).toEqual([]);
});

test('usage and models return a 401 without a key and for an unknown key', async () => {
  for (const path of ['models', 'gateway/usage']) {
    for (const [secret, code] of [
      [null, 'missing_api_key'],
      [makeSecret(DEFAULT_KEY_PREFIX), 'invalid_api_key'],
    ] as const) {
      const answer = await get(`${system.chatBaseUrl}/${path}`, secret);
      expect([answer.status, JSON.parse(answer.text)]).toMatchObject([401, { error: { code } }]);
      expect(answer.headers['x-request-id']).toBe(answer.requestId);
    }
  }
});
