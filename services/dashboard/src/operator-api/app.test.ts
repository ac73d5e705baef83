import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { secretFrom, UUID_PATTERN } from '@gateway/contracts/ids';
import { until } from '@gateway/testkit';
import { ACCOUNT, KEY, MODEL, OPERATOR } from '../../test/examples.js';
import {
  errorOf,
  ROOT_TOKEN,
  send,
  sendInPieces,
  startOperatorWorld,
  type OperatorWorld,
} from '../../test/operator-world.js';
import { REQUESTS_OPEN_MAX } from '../http/listener.js';
import { ROUTE_TABLE } from './routes.js';
import { BODY_BYTES_MAX } from './app.js';

let world: OperatorWorld;
beforeAll(async () => {
  world = await startOperatorWorld();
});
afterAll(() => world.stop());
beforeEach(() => {
  world.reset();
  world.scriptByName('catalog.get-model', () => ({ model: MODEL }));
  world.scriptByName('accounts.create-account', () => ({ account: ACCOUNT }));
  world.scriptByName('accounts.list-accounts', () => ({ accounts: [], nextCursor: null, total: 0 }));
});

const unknown: [string, string, string | null, number][] = [
  ['GET', '/nothing', ROOT_TOKEN, 404],
  ['GET', '/nothing', null, 401],
  ['PATCH', '/accounts/acc_1', ROOT_TOKEN, 404],
  ['POST', '/providers/prov', ROOT_TOKEN, 404],
  ['GET', '/Accounts', ROOT_TOKEN, 404],
  ['GET', '/accounts/', ROOT_TOKEN, 404],
  ['OPTIONS', '/accounts', ROOT_TOKEN, 404],
  ['GET', '/keys/key_1/rotate', ROOT_TOKEN, 404],
  ['GET', '', ROOT_TOKEN, 404],
];
test.each(unknown)('%s %j is not a route', async (method, path, token, status) => {
  const answer = await world.send(method, path, { token });
  expect([answer.status, errorOf(answer).code]).toEqual([
    status,
    status === 404 ? 'not_found' : 'invalid_operator_token',
  ]);
  expect(errorOf(answer).request_id).toMatch(UUID_PATTERN);
  expect(answer.headers.get('x-gateway-request-id')).toBe(errorOf(answer).request_id);
  expect(answer.headers.get('x-powered-by')).toBeNull();
});

test('HEAD gets the head of GET without the body', async () => {
  const answer = await world.send('HEAD', '/accounts');
  expect([answer.status, answer.text]).toEqual([200, '']);
  expect((await world.send('HEAD', '/accounts', { token: null })).status).toBe(401);
});

test('a path outside the prefix gets 404', async () => {
  const answer = await send(`${world.dashboard.operatorUrl}/healthz`, 'GET', { token: null });
  expect([answer.status, errorOf(answer).code]).toEqual([404, 'not_found']);
});

test('a path that cannot be decoded gets 400 in the same form', async () => {
  const answer = await world.send('GET', '/accounts/%E0%A4%A');
  expect([answer.status, errorOf(answer).code]).toEqual([400, 'invalid_request']);
});

test('the OpenAPI document needs no token and has every route', async () => {
  const answer = await world.send('GET', '/openapi.json', { token: null });
  expect(answer.status).toBe(200);
  expect(answer.body['openapi']).toBe('3.1.0');
  const paths = answer.body['paths'] as Record<string, Record<string, { operationId: string }>>;
  const operations = Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
  expect(operations.sort()).toEqual(ROUTE_TABLE.map(({ id }) => id).sort());
  const references = [...answer.text.matchAll(/"\$ref":"#\/components\/(\w+)\/([\w-]+)"/g)];
  const components = answer.body['components'] as Record<string, object>;
  expect(references.length).toBeGreaterThan(500);
  expect(references.filter(([, kind = '', name = '']) => !(name in (components[kind] ?? {})))).toEqual([]);
  expect(answer.text.split('"$ref"')).toHaveLength(references.length + 1);
  expect(answer.text).not.toContain('$defs');
});

test.each([
  ['/models/pub/model', 'pub/model'],
  ['/models/pub%2Fmodel', 'pub/model'],
  ['/models/pub/deep/model:v1@x+y', 'pub/deep/model:v1@x+y'],
  ['/models/pub/deep%2Fmodel%3Av1', 'pub/deep/model:v1'],
])('%s is the model %s', async (path, id) => {
  expect((await world.send('GET', path)).status).toBe(200);
  expect(world.asked[0]?.body).toEqual({ id });
});

test.each([
  ['/accounts?limit=0', 'limit'],
  ['/accounts?limit=201', 'limit'],
  ['/accounts?limit=x', 'limit'],
  ['/accounts?limit=1&limit=2', 'limit'],
  ['/accounts?page=1', 'page'],
  ['/usage-records?from=2026-11-20', 'from'],
  ['/usage-records?from=2026-11-20T00:00:00%2B01:00', 'from'],
  ['/accounts/acc_1/statement', 'month'],
  ['/accounts/acc_1/statement?month=2026-13', 'month'],
  ['/audit?cursor=abc', 'cursor'],
  ['/slots?accountId=-', 'accountId'],
])('GET %s gets 400 with param %s', async (path, param) => {
  world.scriptByName('accounts.get-account', () => ({ account: ACCOUNT }));
  const answer = await world.send('GET', path);
  expect([answer.status, errorOf(answer).code, errorOf(answer).param]).toEqual([400, 'invalid_request', param]);
});

test('a list passes limit and cursor to the service and refuses an empty cursor', async () => {
  world.scriptByName('accounts.list-accounts', () => ({ accounts: [ACCOUNT], nextCursor: 'more', total: 2 }));
  const answer = await world.send('GET', '/accounts?cursor=here&limit=1');
  expect(answer.body).toEqual({ data: [ACCOUNT], next_cursor: 'more' });
  const empty = await world.send('GET', '/accounts?cursor=');
  expect([empty.status, errorOf(empty).param]).toEqual([400, 'cursor']);
  expect(world.asked.map(({ body }) => body)).toEqual([{ cursor: 'here', limit: 1 }]);
});

const body = { name: 'Ada', email: 'ada@example.com' };
const text = JSON.stringify(body);
const bodies: [string, unknown, Record<string, string>, string | null][] = [
  ['another content type', text, { 'content-type': 'text/plain' }, 'Content-Type'],
  ['YAML where only JSON is taken', 'name: Ada', { 'content-type': 'application/yaml' }, 'Content-Type'],
  ['a coded body', text, { 'content-encoding': 'gzip' }, 'Content-Encoding'],
  ['bytes that are no UTF-8', new Uint8Array([0x7b, 0xff, 0x7d]), {}, null],
  ['a text', '"x"', {}, null],
  ['null', 'null', {}, null],
  ['deep nesting', '['.repeat(400_000), {}, null],
];
test.each(bodies)('%s gets 400', async (_name, sent, headers, param) => {
  const answer = await world.send('POST', '/accounts', { body: sent, headers });
  expect([answer.status, errorOf(answer).code, errorOf(answer).param]).toEqual([400, 'invalid_request', param]);
  expect(world.asked).toEqual([]);
});

test('parameters of the content type are accepted', async () => {
  const headers = { 'content-type': 'Application/JSON; charset=utf-8' };
  expect((await world.send('POST', '/accounts', { body: text, headers })).status).toBe(201);
});

test('a body of the largest size is read, and one byte more gets 400', async () => {
  const padded = text + ' '.repeat(BODY_BYTES_MAX - text.length);
  expect((await world.send('POST', '/accounts', { body: padded })).status).toBe(201);
  const announced = await world.send('POST', '/accounts', { body: `${padded} ` });
  expect([announced.status, errorOf(announced).code]).toEqual([400, 'invalid_request']);
  const head = `POST /operator/v1/accounts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ROOT_TOKEN}\r\n`;
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
  const counted = await raw(
    `${head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(17)}`,
  );
  expect(counted).toMatch(/^HTTP\/1.1 400 [^]*"code":"invalid_request"/);
});

test('a refusal before the body was read reaches a client that still sends it', async () => {
  const answer = await world.send('POST', '/accounts', { token: null, body: 'x'.repeat(900_000) });
  expect([answer.status, errorOf(answer).code]).toEqual([401, 'invalid_operator_token']);
});

test('malformed HTTP gets a 400 in the same form', async () => {
  expect(await raw('NONSENSE\r\n\r\n')).toMatch(
    /^HTTP\/1.1 400 [^]*x-gateway-request-id: [^]*"code":"invalid_request"/,
  );
});

test('a request above the bound gets 503 at once', async () => {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  world.scriptByName('accounts.list-accounts', async () => {
    await released;
    return { accounts: [], nextCursor: null, total: 0 };
  });
  const running = Array.from({ length: REQUESTS_OPEN_MAX }, () => world.send('GET', '/accounts'));
  await until('all of them run', () => world.asked.length === REQUESTS_OPEN_MAX);
  const refused = await world.send('GET', '/accounts');
  expect([refused.status, errorOf(refused).code, refused.headers.get('retry-after')]).toEqual([
    503,
    'dependency_unavailable',
    '1',
  ]);
  release();
  expect((await Promise.all(running)).map(({ status }) => status)).toEqual(running.map(() => 200));
  expect((await world.send('GET', '/accounts')).status).toBe(200);
});

test('a write leaves one log line with operator, route and status; a read leaves none', async () => {
  await world.send('GET', '/accounts');
  const lines = world.log.lines.length;
  const done = await world.send('POST', '/accounts', { body });
  const refused = await world.send('POST', '/accounts', { token: null, body });
  expect(world.log.lines.slice(lines).map(({ facts }) => facts)).toEqual([
    {
      requestId: done.headers.get('x-gateway-request-id'),
      client: '127.0.0.1',
      operator: 'root',
      route: 'createAccount',
      path: '/operator/v1/accounts',
      status: 201,
      replayed: false,
    },
    {
      requestId: refused.headers.get('x-gateway-request-id'),
      client: '127.0.0.1',
      operator: null,
      route: 'createAccount',
      path: '/operator/v1/accounts',
      status: 401,
      replayed: false,
      code: 'invalid_operator_token',
    },
  ]);
});

test('logs and responses contain no secret, token or credential except a new one', async () => {
  world.scriptByName('accounts.create-key', () => ({ key: KEY, repeated: false }));
  world.scriptByName('catalog.put-source', () => {
    throw new Error('canary-cause');
  });
  const source = {
    modelId: 'p/m',
    providerId: 'p',
    baseUrl: 'https://a.example',
    upstreamModel: 'm',
    endpoints: ['/v1/messages'],
  };
  const made = await world.send('POST', '/accounts/acc_1/keys', { body: { name: 'canary-name' } });
  const answers = await Promise.all([
    world.send('PUT', '/sources/s', { body: { ...source, credential: 'canary-credential' } }),
    world.send('PUT', '/sources/s', { body: { ...source, credential: { fromEnv: 'CANARY_MISSING', x: 'canary-x' } } }),
    world.send('PUT', '/sources/s', { body: '{"credential": "canary-broken" "x"}' }),
    world.send('POST', '/apply', { body: 'objects: [canary-yaml: {', headers: { 'content-type': 'text/yaml' } }),
    world.send('GET', '/accounts', { token: 'canary-token' }),
    world.send('POST', '/accounts?x=canary-query', { body: { ...body, name: 7, email: 'canary-mail' } }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([500, 400, 400, 400, 401, 400]);
  const told = JSON.stringify([world.log.lines, answers.map(({ text: answered }) => answered)]);
  expect(told).not.toContain('canary');
  for (const secret of [ROOT_TOKEN, made.body['secret'] as string]) expect(told).not.toContain(secret);
});

test.each([
  ['was deleted', null, 401, 'invalid_operator_token'],
  ['has a lesser role', { ...OPERATOR, role: 'readonly' }, 403, 'operator_forbidden'],
])('an operator who %s while the body was awaited changes nothing', async (_what, later, status, code) => {
  let operator: object | null = { ...OPERATOR, role: 'admin' };
  world.scriptByName('accounts.find-operator', () => ({ operator }));
  const answer = await sendInPieces(
    world.dashboard,
    `${world.dashboard.operatorUrl}/operator/v1/accounts`,
    {
      body: { name: 'Ada', email: 'ada@example.com' },
      headers: { authorization: `Bearer ${secretFrom('mgo_', 'd'.repeat(40))}` },
    },
    () => (operator = later),
  );
  expect([answer.status, errorOf(answer).code]).toEqual([status, code]);
  expect(world.asked.map(({ name }) => name)).toEqual(['accounts.find-operator', 'accounts.find-operator']);
});

test('an operator whose body arrives with the head is looked up once', async () => {
  world.scriptByName('accounts.find-operator', () => ({ operator: { ...OPERATOR, role: 'admin' } }));
  const body = { name: 'Ada', email: 'ada@example.com' };
  const token = secretFrom('mgo_', 'd'.repeat(40));
  expect((await world.send('POST', '/accounts', { body, token })).status).toBe(201);
  expect(world.asked.map(({ name }) => name)).toEqual(['accounts.find-operator', 'accounts.create-account']);
});

/** Sends bytes on a new connection and returns the response up to the end of its body. */
async function raw(bytes: string): Promise<string> {
  const socket = connect(world.dashboard.operatorPort, '127.0.0.1');
  let answered = '';
  const closed = once(socket, 'close');
  socket.setEncoding('utf8');
  socket.on('data', (part: string) => (answered += part));
  socket.on('error', () => undefined);
  socket.write(bytes);
  await until('an answer with its body', () => /\r\n\r\n[^]*}/.test(answered));
  socket.destroy();
  await closed;
  return answered;
}
