import { afterAll, expect, test } from '@jest/globals';
import { parseUsd } from '@gateway/metering';
import { startProviderSimulator } from '@gateway/provider-simulator';
import { request } from 'undici';
import { until } from '@gateway/testkit';
import { HELLO, chat, get } from '../test/call.js';
import { connectRedis, isEmpty, readLimitStore } from '../test/limit-store.js';
import { sharedSystem } from '../test/system.js';

const PRICES = { inputPerMillion: '1.00', outputPerMillion: '1000.00' };
const sseEvent = (content: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const STREAM_HEAD = { status: 200, headers: { 'content-type': 'text/event-stream' } };

const system = sharedSystem();
const simulator = await startProviderSimulator();
const redis = connectRedis(system.redisUrl);
afterAll(async () => {
  redis.disconnect();
  await simulator.close();
});

async function setUp(sources: 1 | 2, source = {}) {
  const { account, secret } = await system.operator.account('100.00');
  const model = await system.operator.model(PRICES, simulator.urls.slice(0, sources), source);
  return { account, secret, model, upstream: `up-${model.id.slice(5)}`, url: `${system.chatBaseUrl}/chat/completions` };
}

async function expectLimitStoreEmpty(account: string): Promise<void> {
  await until('slot and hold are gone', async () => isEmpty(await readLimitStore(redis, account)));
}

test('a refused connection fails over, and the record has both attempts', async () => {
  const { account, secret } = await system.operator.account('100.00');
  const closed = await startProviderSimulator();
  const [deadUrl] = closed.urls;
  await closed.close();
  const mixed = await system.operator.model(PRICES, [deadUrl, simulator.urls[1]]);
  simulator.script({ model: `up-${mixed.id.slice(5)}`, steps: [{ usage: { input: 5, output: 7 } }] });
  const answer = await chat(`${system.chatBaseUrl}/chat/completions`, secret, { model: mixed.id, messages: HELLO });
  expect(answer.status).toBe(200);
  const { record } = await system.operator.record(answer.requestId);
  expect(record.attempts).toEqual([
    { sourceId: mixed.sources[0], outcome: 'unreachable', status: null, possiblyPaid: false },
    { sourceId: mixed.sources[1], outcome: 'completed', status: 200, possiblyPaid: false },
  ]);
  expect(record).toMatchObject({ outcome: 'settled', sourceId: mixed.sources[1], chargedUsd: '0.007005' });
  await expectLimitStoreEmpty(account);
});

test.each([401, 402, 403, 404, 408, 429, 500, 502, 503, 504])(
  'the gateway fails over after a source returned %i',
  async (status) => {
    const { secret, model, upstream, url } = await setUp(2);
    simulator.script({ model: upstream, listener: 'a', steps: [{ status }] });
    const answer = await chat(url, secret, { model: model.id, messages: HELLO, stream: true });
    expect([answer.status, answer.cut]).toEqual([200, false]);
    const { record } = await system.operator.record(answer.requestId);
    expect(record.attempts).toMatchObject([
      { outcome: 'rejected', status },
      { outcome: 'completed', status: 200 },
    ]);
  },
);

const ALL_FAIL = [
  [[429, 429], 429, 'rate_limit_exceeded'],
  [[503, 500], 500, 'upstream_error'],
  [[503, 401], 503, 'upstream_error'],
  [[403, 429], 429, 'rate_limit_exceeded'],
  [[401, 403], 403, 'upstream_auth_error'],
  [[403, 404], 404, 'model_not_found'],
  [[400, 200], 400, 'invalid_request'],
] as const;

// Covers i5
test.each(ALL_FAIL.flatMap((row) => [false, true].map((stream) => [...row, stream] as const)))(
  'sources that return %j give the client %i %s without a charge (streamed: %p)',
  async (statuses, status, code, stream) => {
    const { account, secret, model, upstream, url } = await setUp(2);
    for (const [index, listener] of (['a', 'b'] as const).entries()) {
      simulator.script({ model: upstream, listener, steps: [{ status: statuses[index] ?? 200 }] });
    }
    const answer = await chat(url, secret, { model: model.id, messages: HELLO, stream });
    expect([answer.status, answer.cut, JSON.parse(answer.text)]).toMatchObject([
      status,
      false,
      { error: { code, request_id: answer.requestId } },
    ]);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    const { record, transactions } = await system.operator.record(answer.requestId);
    expect(record).toMatchObject({ outcome: 'voided', chargedUsd: '0.00', evidence: 'none', streamed: stream });
    expect(transactions).toEqual([]);
    expect(await system.operator.walletUsd(account)).toBe('100.00');
    await expectLimitStoreEmpty(account);
    simulator.clearScripts(upstream);
  },
);

test.each([401, 402, 403, 404, 500, 503])(
  'a provider error %i reaches the client with the gateway message only',
  async (status) => {
    const { secret, model, upstream, url } = await setUp(1);
    const leak = `Incorrect API key sk-${upstream} of org-${upstream}, see https://${upstream}.example`;
    const headers = { 'content-type': 'application/json', 'www-authenticate': leak, 'x-leak': leak };
    const steps = [
      { status, headers },
      { chunk: JSON.stringify({ error: { message: leak, code: leak, type: leak } }) },
    ];
    simulator.script({ model: upstream, steps });
    const answer = await chat(url, secret, { model: model.id, messages: HELLO });
    expect(answer.status).toBe(status === 402 ? 403 : status);
    const all = `${answer.text} ${JSON.stringify(answer.headers)}`;
    for (const word of [upstream, 'Incorrect', 'sk-', 'org-']) expect(all).not.toContain(word);
    expect(JSON.parse(answer.text).error.message.length).toBeGreaterThan(10);
  },
);

test.each([
  [{ 'retry-after': '17' }, '17'],
  [{ 'retry-after': '2.5' }, '3'],
  [{ 'retry-after': 'soon' }, undefined],
  [{}, undefined],
])('a 429 with %j gives the client Retry-After %p', async (headers: Record<string, string>, retryAfter) => {
  const { secret, model, upstream, url } = await setUp(1);
  simulator.script({ model: upstream, times: 2, steps: [{ status: 429, headers }] });
  const answer = await chat(url, secret, { model: model.id, messages: HELLO });
  expect([answer.status, answer.headers['retry-after']]).toEqual([429, retryAfter]);
});

test('unreachable sources give the client 502 upstream_unreachable', async () => {
  const gone = await startProviderSimulator();
  const urls = gone.urls;
  await gone.close();
  const { account, secret } = await system.operator.account('100.00');
  const model = await system.operator.model(PRICES, urls);
  const answer = await chat(`${system.chatBaseUrl}/chat/completions`, secret, { model: model.id, messages: HELLO });
  expect([answer.status, JSON.parse(answer.text)]).toMatchObject([502, { error: { code: 'upstream_unreachable' } }]);
  expect((await system.operator.record(answer.requestId)).record.attempts).toHaveLength(2);
  await expectLimitStoreEmpty(account);
});

test.each(['cut', 'reset'] as const)(
  'a stream that the provider ends by %s is cut for the client and not charged',
  async (end) => {
    const { account, secret, model, upstream, url } = await setUp(2);
    const semaphore = `${upstream}-end`;
    simulator.script({
      model: upstream,
      listener: 'a',
      steps: [STREAM_HEAD, { chunk: sseEvent('half') }, { waitFor: semaphore }, { end }],
    });
    const { body, headers } = await request(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: model.id, messages: HELLO, stream: true }),
    });
    let text = '';
    let cut = false;
    try {
      for await (const chunk of body) {
        if (text === '') simulator.release(semaphore);
        text += String(chunk);
      }
    } catch {
      cut = true;
    }
    expect(cut).toBe(true);
    expect(text.startsWith(sseEvent('half'))).toBe(true);
    expect(text).not.toContain('[DONE]');
    expect(JSON.parse(text.slice(sseEvent('half').length).replace(/^data: /, ''))).toMatchObject({
      error: { code: 'upstream_timeout' },
    });
    expect(simulator.calls({ model: upstream })).toHaveLength(1);
    const { record } = await system.operator.record(String(headers['x-gateway-request-id']));
    expect(record).toMatchObject({
      outcome: 'voided',
      chargedUsd: '0.00',
      attempts: [{ outcome: 'broken', possiblyPaid: true }],
    });
    await expectLimitStoreEmpty(account);
  },
);

/**
 * Starts a request, disconnects after the first bytes of the response, and returns the request ID
 * when the edge has noticed.
 */
async function leave(secret: string, model: string, url: string, stream = true): Promise<string> {
  const leaving = new AbortController();
  const answer = await request(url, {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: HELLO, stream }),
  });
  answer.body.on('error', () => undefined);
  const closed = new Promise((resolve) => answer.body.once('close', resolve));
  answer.body.once('data', () => leaving.abort());
  await closed;
  await noticed();
  return String(answer.headers['x-gateway-request-id']);
}

/**
 * Waits until the edge has noticed a disconnect. The edge handles connections in the order of their
 * events, so it handles these requests after the disconnect.
 */
async function noticed(): Promise<void> {
  for (let n = 0; n < 3; n += 1) await get(`${system.edgeUrls[0]}/api/gateway/config`, null);
}

test('a disconnected stream keeps its slot and pays the reported usage', async () => {
  const { account, secret, model, upstream, url } = await setUp(1);
  const usage = { prompt_tokens: 11, completion_tokens: 13, total_tokens: 24 };
  simulator.script({
    model: upstream,
    steps: [
      STREAM_HEAD,
      { chunk: sseEvent('one') },
      { waitFor: `${upstream}-rest` },
      { chunk: sseEvent('two') },
      { chunk: `data: ${JSON.stringify({ choices: [], usage })}\n\n` },
      { chunk: 'data: [DONE]\n\n' },
      { end: 'normal' },
    ],
  });
  const requestId = await leave(secret, model.id, url);
  expect((await readLimitStore(redis, account)).slots).toBe(1);
  simulator.release(`${upstream}-rest`);
  const { record } = await system.operator.record(requestId);
  expect(record).toMatchObject({ outcome: 'settled', evidence: 'reported', tokens: { input: 11, output: 13 } });
  expect(parseUsd(record.chargedUsd)).toBe(13_011_000n);
  expect(simulator.calls({ model: upstream })[0]?.aborted).toBe(false);
  await expectLimitStoreEmpty(account);
});

test('cancelStopsBilling cancels a stream at disconnect and charges the sent part', async () => {
  const { account, secret, model, upstream, url } = await setUp(1, { cancelStopsBilling: true });
  simulator.script({
    model: upstream,
    steps: [STREAM_HEAD, { chunk: sseEvent('some words were delivered') }, { end: 'stall' }],
  });
  const requestId = await leave(secret, model.id, url);
  const { record } = await system.operator.record(requestId);
  expect(record).toMatchObject({ outcome: 'settled', evidence: 'estimated', attempts: [{ outcome: 'abandoned' }] });
  expect(parseUsd(record.chargedUsd)).toBeGreaterThan(0n);
  await until('the provider sees the disconnect', () => simulator.calls({ model: upstream })[0]?.aborted);
  await expectLimitStoreEmpty(account);
});

/**
 * Sends a plain request and disconnects when the provider has received it. There is no response
 * with an ID, so tests find the record by its account.
 */
async function leavePlain(secret: string, model: string, upstream: string, url: string): Promise<void> {
  const leaving = new AbortController();
  const answer = request(url, {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: HELLO }),
  });
  const left = expect(answer).rejects.toThrow();
  await until('the provider has the request', () => simulator.calls({ model: upstream }).length === 1);
  leaving.abort();
  await left;
  await noticed();
}

test('a disconnected plain call keeps its slot and pays the reported usage', async () => {
  const { account, secret, model, upstream, url } = await setUp(1);
  simulator.script({ model: upstream, steps: [{ waitFor: `${upstream}-rest` }, { usage: { input: 11, output: 13 } }] });
  await leavePlain(secret, model.id, upstream, url);
  expect((await readLimitStore(redis, account)).slots).toBe(1);
  simulator.release(`${upstream}-rest`);
  const record = await system.operator.onlyRecord(account);
  expect(record).toMatchObject({ outcome: 'settled', evidence: 'reported', tokens: { input: 11, output: 13 } });
  expect(parseUsd(record.chargedUsd)).toBe(13_011_000n);
  expect(simulator.calls({ model: upstream })[0]?.aborted).toBe(false);
  await expectLimitStoreEmpty(account);
});

test('cancelStopsBilling cancels a plain call at disconnect without a charge', async () => {
  const { account, secret, model, upstream, url } = await setUp(1, { cancelStopsBilling: true });
  simulator.script({
    model: upstream,
    steps: [{ waitFor: `${upstream}-never` }, { usage: { input: 11, output: 13 } }],
  });
  await leavePlain(secret, model.id, upstream, url);
  await until('the provider sees the disconnect', () => simulator.calls({ model: upstream })[0]?.aborted);
  const record = await system.operator.onlyRecord(account);
  expect(record).toMatchObject({ outcome: 'voided', chargedUsd: '0.00', attempts: [{ outcome: 'abandoned' }] });
  expect(await system.operator.walletUsd(account)).toBe('100.00');
  await expectLimitStoreEmpty(account);
});

test('cancelStopsBilling charges the delivered part of a long plain response', async () => {
  const { account, secret, model, upstream, url } = await setUp(1, { cancelStopsBilling: true });
  const delivered = 2 * 1024 * 1024;
  const begun = `{"choices":[{"index":0,"message":{"role":"assistant","content":"${'x'.repeat(delivered)}`;
  simulator.script({ model: upstream, steps: [{ status: 200 }, { chunk: begun }, { end: 'stall' }] });
  // The hold limits the output of this request: 8,192 tokens at $1,000 per million.
  const requestId = await leave(secret, model.id, url, false);
  const { record } = await system.operator.record(requestId);
  expect(record).toMatchObject({ outcome: 'settled', evidence: 'estimated', attempts: [{ outcome: 'abandoned' }] });
  expect(record.tokens?.output).toBeGreaterThan(1_000);
  expect(parseUsd((await system.operator.walletUsd(account)) ?? '')).toBe(
    parseUsd('100.00') - parseUsd(record.chargedUsd),
  );
  await until('the provider sees the disconnect', () => simulator.calls({ model: upstream })[0]?.aborted);
  await expectLimitStoreEmpty(account);
});
