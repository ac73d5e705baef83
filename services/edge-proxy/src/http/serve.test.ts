import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { DEFAULT_KEY_PREFIX } from '@gateway/contracts/ids';
import { ENDPOINTS } from '@gateway/contracts/messages';
import { gatewayConfig, modelList, usageObject } from '@gateway/contracts/public';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { chat, exchangeRaw, send } from '../../test/client.js';
import {
  modelEntry,
  sourceEntry,
  startEdgeWorld,
  TEST_KEY,
  TEST_MODEL,
  type EdgeWorld,
} from '../../test/edge-world.js';
import { TEST_ACCOUNT } from '../../test/fake-admission.js';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const PATH = '/v1/chat/completions';

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld();
}, 60_000);
afterAll(() => world.stop(), 60_000);

/** Returns status and error of a raw response. Fails if an ID header is missing. */
function readRaw(text: string): { status: number; head: string; error: Record<string, unknown> } {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  expect(head).toMatch(/^x-gateway-request-id: [0-9a-f-]{36}$/im);
  expect(head).toMatch(/^x-request-id: .+$/im);
  return { status: Number(head.slice(9, 12)), head, error: body === '' ? {} : JSON.parse(body).error };
}

test.each([
  ['GET', '/'],
  ['GET', '/v1'],
  ['POST', '/v1/chat/completions/'],
  ['POST', '/v1/Chat/completions'],
  ['POST', '/v1/chat%2Fcompletions'],
  ['GET', PATH],
  ['HEAD', '/v1/models'],
  ['OPTIONS', PATH],
  ['DELETE', '/v1/models'],
  ['POST', '/chat/completions'],
  ['GET', '/%'],
  ['GET', '/v1/models/../models'],
  ['PATCH', '//v1/models'],
])('%s %s is 404 unsupported_endpoint with both IDs and no Express headers', async (method, path) => {
  const answer = readRaw(
    await exchangeRaw(world.edge.port, `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
  );
  expect(answer.status).toBe(404);
  expect(answer.head).not.toMatch(/^(etag|allow|x-powered-by|access-control|set-cookie)/im);
  if (method === 'HEAD') return;
  expect(answer.error).toMatchObject({ code: 'unsupported_endpoint', type: 'invalid_request_error', param: null });
  expect(answer.error).not.toHaveProperty('request_id');
  expect(answer.error['message']).toContain('https://gateway.example/v1');
});

test('the messages paths respond in the messages envelope for any method', async () => {
  const answer = await send(world.edge.url, '/v1/messages/count_tokens', { method: 'DELETE' });
  expect(answer.status).toBe(404);
  const id = answer.headers['x-gateway-request-id'];
  expect(answer.headers['request-id']).toBe(id);
  expect(JSON.parse(answer.body.toString())).toMatchObject({
    type: 'error',
    error: { type: 'not_found_error', code: 'unsupported_endpoint' },
    request_id: id,
  });
});

test.each([
  ['text that is not HTTP', 'HELLO\r\n\r\n', 400],
  ['a bad header', 'GET / HTTP/1.1\r\nHost: x\r\nbad header: 1\r\n\r\n', 400],
  ['both lengths', `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n`, 400],
  ['headers without an end', `GET / HTTP/1.1\r\nHost: x\r\nbig: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
  ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n', 404],
  ['no Host', 'GET /nothing HTTP/1.1\r\n\r\n', 400],
  ['no Host in HTTP/1.0', 'GET /nothing HTTP/1.0\r\n\r\n', 404],
  ['two Hosts', 'GET /nothing HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n', 400],
  ['another expectation', 'GET /nothing HTTP/1.1\r\nHost: x\r\nExpect: 200-maybe\r\nConnection: close\r\n\r\n', 404],
])('%s is answered in the chat envelope with both IDs', async (_name, bytes, status) => {
  const answer = readRaw(await exchangeRaw(world.edge.port, bytes));
  expect(answer.status).toBe(status);
  expect(answer.error['code']).toBe(status === 404 ? 'unsupported_endpoint' : 'invalid_request');
});

test('every response has both IDs, and x-request-id is echoed unchanged if sent', async () => {
  const own = await send(world.edge.url, '/api/gateway/config', { key: null });
  expect(own.headers['x-gateway-request-id']).toMatch(UUID_V7);
  expect(own.headers['x-request-id']).toBe(own.headers['x-gateway-request-id']);
  for (const [path, status] of [
    ['/api/gateway/config', 200],
    ['/nothing', 404],
    ['/v1/models', 200],
  ] as const) {
    const id = 'an id, with "odd" bytes \xe9 \t end';
    const answer = await send(world.edge.url, path, { headers: { 'x-request-id': id } });
    expect([answer.status, answer.headers['x-request-id']]).toEqual([status, id]);
  }
});

test.each([
  [{}, 'missing_api_key'],
  [{ authorization: 'Bearer ' }, 'missing_api_key'],
  [{ authorization: 'Basic abc' }, 'missing_api_key'],
  [{ authorization: 'Bearer not-a-key' }, 'invalid_api_key'],
  [{ authorization: `Bearer ${TEST_KEY.toUpperCase()}` }, 'invalid_api_key'],
  [{ authorization: `Bearer ${DEFAULT_KEY_PREFIX}${randomBytes(24).toString('hex')}` }, 'invalid_api_key'],
  [{ 'x-api-key': TEST_KEY.replace(/.$/, (last) => (last === '0' ? '1' : '0')) }, 'invalid_api_key'],
  [{ authorization: [`Bearer ${TEST_KEY}`, `Bearer ${TEST_KEY}`] }, 'invalid_api_key'],
  [{ authorization: ['Basic abc', 'Digest x'] }, 'missing_api_key'],
  [{ authorization: 'Bearer wrong', 'x-api-key': TEST_KEY }, 'invalid_api_key'],
])('headers %j are 401 %s without a message to admission', async (headers, code) => {
  const before = world.admission.batches.length;
  const answer = await send(world.edge.url, PATH, {
    ...chat(),
    key: null,
    headers: { 'content-type': 'application/json', ...headers },
  });
  expect(answer.status).toBe(401);
  expect(JSON.parse(answer.body.toString()).error).toMatchObject({ code, type: 'authentication_error' });
  expect(world.admission.batches).toHaveLength(before);
});

test.each<Record<string, string | string[]>>([
  { authorization: `bearer ${TEST_KEY}` },
  { authorization: `BEARER   ${TEST_KEY}`, 'x-api-key': 'wrong' },
  { 'x-api-key': TEST_KEY },
  { authorization: 'Basic abc', 'x-api-key': TEST_KEY },
  { authorization: ['Basic abc', 'Digest x'], 'x-api-key': TEST_KEY },
  { authorization: ['Basic abc', `Bearer ${TEST_KEY}`] },
  { authorization: 'Bearer', 'x-api-key': TEST_KEY },
])('headers %j present the key', async (headers) => {
  const answer = await send(world.edge.url, PATH, {
    ...chat(),
    key: null,
    headers: { 'content-type': 'application/json', ...headers },
  });
  expect(answer.status).toBe(200);
});

test('a client that is still sending receives an early error; the connection closes', async () => {
  const socket = connect(world.edge.port, '127.0.0.1');
  socket.on('error', () => undefined);
  let seen = '';
  socket.on('data', (chunk) => (seen += chunk.toString('latin1')));
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\nContent-Type: application/json\r\n\r\n`);
  for (let sent = 0; sent < 500_000; sent += 50_000) {
    socket.write('x'.repeat(50_000));
    await delay(1);
  }
  await closed;
  const answer = readRaw(seen);
  expect(answer.status).toBe(401);
  expect(answer.head).toMatch(/^connection: close$/im);
});

test('Expect: 100-continue receives the error, or 100 and then the response', async () => {
  const head = (key: string, length: number): string =>
    `POST ${PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\nExpect: 100-continue\r\n\r\n`;
  const refused = await exchangeRaw(world.edge.port, head('wrong', 10));
  expect(readRaw(refused).status).toBe(401);
  const body = String(chat().body);
  const answered = await exchangeRaw(world.edge.port, head(TEST_KEY, body.length) + body);
  expect(answered).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
});

test('a broken body ends the call without a hold', async () => {
  const before = world.admission.admits.length;
  const answer = await exchangeRaw(
    world.edge.port,
    `POST ${PATH} HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nAuthorization: Bearer ${TEST_KEY}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
  );
  const { status, head, error } = readRaw(answer);
  expect(status).toBe(400);
  expect(head).toMatch(/^x-request-id: mine$/im);
  expect(head).toContain(`x-gateway-request-id: ${String(error['request_id'])}`);
  expect(world.admission.admits).toHaveLength(before);
});

test.each(['/v1/messages', '/v1/messages/count_tokens'])(
  'a broken body on %s is answered in the messages envelope',
  async (path) => {
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TEST_KEY}\r\n`;
    const answer = await exchangeRaw(world.edge.port, `${head}Transfer-Encoding: chunked\r\n\r\nZZ\r\n`);
    const [, id] = /^request-id: (.+)$/im.exec(answer) ?? [];
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', code: 'invalid_request' },
      request_id: id,
    });
  },
);

test('CONNECT to a messages path is answered in the messages envelope', async () => {
  const answer = await exchangeRaw(world.edge.port, 'CONNECT /v1/messages HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(answer).toMatch(/^request-id: [0-9a-f-]{36}\r$/im);
  expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({
    type: 'error',
    error: { type: 'not_found_error', code: 'unsupported_endpoint' },
  });
});

test('a connection is kept for the next request', async () => {
  const one = 'GET /api/gateway/config HTTP/1.1\r\nHost: x\r\n\r\n';
  const text = await exchangeRaw(world.edge.port, one + one.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
  expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  expect(text).toMatch(/keep-alive: timeout=75/i);
});

test('GET /api/gateway/config needs no key and returns the configured addresses', async () => {
  const answer = await send(world.edge.url, '/api/gateway/config?x=1', {
    key: null,
    headers: { host: 'evil.example' },
  });
  expect(gatewayConfig.parse(JSON.parse(answer.body.toString()))).toEqual({
    chatBaseUrl: 'https://gateway.example/v1',
    messagesBaseUrl: 'https://gateway.example',
  });
});

test('GET /v1/models lists active, priced models that the key and its funding allow', async () => {
  await world.publishCatalog(({ models, sources }) => {
    const [model] = models;
    const price = model?.prices[0];
    if (model === undefined || price === undefined || price.figures === null) throw new Error('no price');
    const { tiers: _none, perCall: _free, ...figures } = price.figures;
    const own = { ...figures, cachedInputPerMillion: 100_000_000, cacheWritePerMillion: 1_250_000_000 };
    const tiers = [
      { aboveInputTokens: 200_000, ...own, inputPerMillion: 9_000_000_000, cacheWrite1hPerMillion: 1_000_000_000 },
    ];
    models[0] = { ...model, prices: [{ ...price, figures: { ...own, perCall: 250_000_000, tiers } }] };
    models.push(
      modelEntry('pub/second'),
      { ...modelEntry('pub/asleep'), active: false },
      { ...modelEntry('pub/unpriced'), prices: [] },
      { ...modelEntry('pub/switched-off'), available: false },
      modelEntry('pub/source-off'),
      modelEntry('pub/no-source'),
    );
    for (const id of ['second', 'asleep', 'unpriced', 'switched-off', 'source-off']) {
      const own = { model: `pub/${id}`, enabled: id !== 'source-off' };
      sources.push(sourceEntry(`list-${id}`, world.provider.urls[0], own));
    }
  });
  const ids = async (): Promise<string[]> => {
    const answer = await send(world.edge.url, '/v1/models');
    expect(answer.status).toBe(200);
    return modelList.parse(JSON.parse(answer.body.toString())).data.map(({ id }) => id);
  };
  while ((await ids()).length < 2) await delay(5);
  expect(await ids()).toEqual([TEST_MODEL, 'pub/second']);
  const pricing = { input: '1.00', cached_input: '0.10', cache_write: '1.25', cache_write_1h: '1.25', output: '2.00' };
  const base = { kind: 'authorized', account: TEST_ACCOUNT, key: 'key-1', allowedModels: null } as const;
  world.admission.authorize = { ...base, planModels: ['pub/second'], walletAboveZero: false };
  expect(await ids()).toEqual(['pub/second']);
  world.admission.authorize = { ...base, planModels: [], walletAboveZero: false };
  expect(await ids()).toEqual([]);
  world.admission.authorize = { ...base, allowedModels: [TEST_MODEL], planModels: null, walletAboveZero: false };
  const answer = await send(world.edge.url, '/v1/models');
  expect(modelList.parse(JSON.parse(answer.body.toString())).data).toEqual([
    {
      id: TEST_MODEL,
      object: 'model',
      created: 1_700_000_000,
      owned_by: 'pub',
      type: 'model',
      display_name: `Model ${TEST_MODEL}`,
      created_at: '2023-11-14T22:13:20.000Z',
      endpoints: ENDPOINTS.filter((path) => path !== '/v1/embeddings').sort(),
      context_length: 128_000,
      pricing: {
        ...pricing,
        per_call: '0.25',
        long_context: [{ above_input_tokens: 200_000, ...pricing, input: '9.00', cache_write_1h: '1.00' }],
      },
    },
  ]);
  world.admission.authorize = {
    kind: 'refused',
    id: '01900000-0000-7000-8000-000000000000',
    code: 'key_expired',
    facts: {},
  };
  const refused = await send(world.edge.url, '/v1/models');
  expect([refused.status, JSON.parse(refused.body.toString()).error.code]).toEqual([403, 'key_expired']);
});

test('GET /v1/gateway/usage returns settled values in the unit of each window', async () => {
  const terms = {
    plan: { id: 'p', name: 'Pro', tier: 'pro' },
    requestsPerMinute: 60,
    concurrency: 10,
    models: null,
    windows: [],
    allotments: [],
    subscription: { id: 's', start: 0, end: 1_800_000_000_000 },
  };
  world.admission.usage = {
    kind: 'usage',
    account: TEST_ACCOUNT,
    key: 'key-1',
    now: 0,
    terms,
    windows: [
      {
        type: 'weekly',
        unit: 'usd',
        limit: 3_000_000_000,
        used: 100_000_001,
        label: 'Weekly',
        resetsAt: 1_700_000_000_000,
      },
      { type: 'monthly', unit: 'requests', limit: 10, used: 12, label: 'Monthly', resetsAt: 1_800_000_000_000 },
    ],
    allotments: [],
    walletNanoUsd: -1_500_000_000,
    keyCapNanoUsd: null,
    allowedModels: null,
  };
  const answer = await send(world.edge.url, '/v1/gateway/usage');
  expect(usageObject.parse(JSON.parse(answer.body.toString()))).toEqual({
    object: 'gateway.usage',
    plan: { name: 'Pro', tier: 'pro', periodEnd: '2027-01-15T08:00:00.000Z' },
    windows: [
      {
        type: 'weekly',
        label: 'Weekly',
        unit: 'usd',
        limit: 3,
        used: 0.100000001,
        remaining: 2.899999999,
        percentUsed: 3,
        resetsAt: '2023-11-14T22:13:20.000Z',
      },
      {
        type: 'monthly',
        label: 'Monthly',
        unit: 'requests',
        limit: 10,
        used: 12,
        remaining: 0,
        percentUsed: 100,
        resetsAt: '2027-01-15T08:00:00.000Z',
      },
    ],
    wallet: { balanceUsd: -1.5 },
    key: { monthlySpendCapUsd: null, allowedModels: null },
  });
  world.admission.usage = null;
  const failed = await send(world.edge.url, '/v1/gateway/usage');
  expect([failed.status, JSON.parse(failed.body.toString()).error.code]).toEqual([500, 'usage_unavailable']);
});
