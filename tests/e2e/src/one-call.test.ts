import { afterAll, expect, test } from '@jest/globals';
import { parseUsd, rate } from '@gateway/metering';
import { startProviderSimulator } from '@gateway/provider-simulator';
import { request } from 'undici';
import { until } from '@gateway/testkit';
import { connectRedis, isEmpty, readLimitStore } from '../test/limit-store.js';
import { sharedSystem } from '../test/system.js';

const PRICES = {
  inputPerMillion: '2.50',
  cachedInputPerMillion: '1.25',
  outputPerMillion: '10.00',
  perCall: '0.000000007',
};
const FIGURES = {
  inputPerMillion: parseUsd('2.50'),
  cachedInputPerMillion: parseUsd('1.25'),
  cacheWritePerMillion: null,
  cacheWrite1hPerMillion: null,
  outputPerMillion: parseUsd('10.00'),
  perCall: 7n,
  tiers: [],
  extras: null,
};
const USAGE = { input: 1_234, cachedInput: 34, cacheWrite: 0, output: 567 };
const CHARGE = rate({ ...USAGE, cacheWrite1h: 0 }, FIGURES);

const system = sharedSystem();
const simulator = await startProviderSimulator();
const redis = connectRedis(system.redisUrl);
afterAll(async () => {
  redis.disconnect();
  await simulator.close();
});

async function post(body: string, secret: string, edge = 0) {
  return request(`${system.edgeUrls[edge]}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body,
  });
}

async function expectSettled(requestId: string, account: string, creditUsd: string): Promise<void> {
  const { record, transactions } = await system.operator.record(requestId);
  expect(record).toMatchObject({
    outcome: 'settled',
    evidence: 'reported',
    tokens: {
      input: USAGE.input,
      cachedInput: USAGE.cachedInput,
      cacheWrite: 0,
      cacheWrite1h: 0,
      output: USAGE.output,
    },
  });
  expect(parseUsd(record.chargedUsd)).toBe(CHARGE);
  expect(parseUsd(record.walletUsd)).toBe(CHARGE);
  const charged = transactions
    .flatMap(({ entries }) => entries)
    .filter((entry) => entry.ledgerAccount === `wallet:${account}`);
  expect(charged.map((entry) => parseUsd(entry.amountUsd))).toEqual([-CHARGE]);
  for (const { entries } of transactions) {
    expect(entries.reduce((sum, entry) => sum + parseUsd(entry.amountUsd), 0n)).toBe(0n);
  }
  expect(parseUsd((await system.operator.walletUsd(account)) ?? '')).toBe(parseUsd(creditUsd) - CHARGE);
  await until('slot and hold are gone', async () => isEmpty(await readLimitStore(redis, account)));
}

// Covers i3
test('a plain call is relayed byte for byte in both directions and charged exactly', async () => {
  const { account, secret } = await system.operator.account('5.00');
  const model = await system.operator.model(PRICES, [simulator.urls[0]]);
  const upstream = `up-${model.id.slice(5)}`;
  simulator.script({ model: upstream, steps: [{ usage: USAGE }] });
  const tail = String.raw`"messages" : [ {"role":"user","content":"caf\u00e9 \ud83d\ude00 1e400","n":12345678901234567890} ],  "vendor_field":{"a":[1.0,2e-7]} }`;
  const answer = await post(`{ "model" : "${model.id}" , ${tail}`, secret);
  const body = await answer.body.text();
  expect([answer.statusCode, body]).toEqual([200, expect.stringContaining('"usage"')]);
  const requestId = String(answer.headers['x-gateway-request-id']);
  expect(answer.headers['x-request-id']).toBe(requestId);

  const [call] = simulator.calls({ model: upstream });
  expect(String(call?.body)).toBe(`{ "model" : "${upstream}" , ${tail}`);
  const sent = new Map(call?.headers.map(([name, value]) => [name.toLowerCase(), value]));
  expect(sent.get('authorization')).toBe(`Bearer credential-of-${model.sources[0]}`);
  expect([...sent.values()].join()).not.toContain(secret);
  await expectSettled(requestId, account, '5.00');
});

test('a streamed call is relayed event by event without the requested usage event', async () => {
  const { account, secret } = await system.operator.account('5.00');
  const model = await system.operator.model(PRICES, [simulator.urls[0]]);
  const upstream = `up-${model.id.slice(5)}`;
  const sseEvent = (content: string) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] })}\n\n`;
  const sseEvents = ['one', 'two', 'three', 'four'].map(sseEvent);
  const usage = {
    prompt_tokens: 1_234,
    completion_tokens: 567,
    total_tokens: 1_801,
    prompt_tokens_details: { cached_tokens: 34 },
  };
  simulator.script({
    model: upstream,
    steps: [
      { status: 200, headers: { 'content-type': 'text/event-stream' } },
      ...sseEvents.flatMap((chunk, n) => [{ waitFor: `${upstream}-${n}` }, { chunk }]),
      { chunk: `data: ${JSON.stringify({ id: 'c', choices: [], usage })}\n\n` },
      { chunk: 'data: [DONE]\n\n' },
      { end: 'normal' },
    ],
  });
  simulator.release(`${upstream}-0`);
  const answer = await post(
    JSON.stringify({ model: model.id, messages: [{ role: 'user', content: 'hi' }], stream: true }),
    secret,
    1,
  );
  expect(answer.headers['content-type']).toContain('text/event-stream');
  let received = '';
  let next = 1;
  for await (const chunk of answer.body) {
    received += String(chunk);
    // The provider sends the next event only after the client has received this one, so any
    // buffering would stall the stream.
    while (next < sseEvents.length && received.length >= sseEvents.slice(0, next).join('').length) {
      simulator.release(`${upstream}-${next}`);
      next += 1;
    }
  }
  expect(received).toBe(`${sseEvents.join('')}data: [DONE]\n\n`);
  const [call] = simulator.calls({ model: upstream });
  expect(JSON.parse(String(call?.body))).toMatchObject({
    model: upstream,
    stream: true,
    stream_options: { include_usage: true },
  });
  await expectSettled(String(answer.headers['x-gateway-request-id']), account, '5.00');
});
