import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { digestOfSecret, secretFrom } from '@gateway/contracts/ids';
import { MESSAGES } from '@gateway/contracts/messages';
import { PAGE_ERRORS, type PageErrorCode } from '@gateway/contracts/pages';
import { until } from '@gateway/testkit';
import { EXAMPLES, exportPage, KEY, OPERATOR, RECORD, REQUEST_ID } from '../../test/examples.js';
import {
  errorOf,
  OLD_PEPPER,
  OLD_ROOT_TOKEN,
  PEPPER,
  ROOT_TOKEN,
  sendInPieces,
  type Answer,
} from '../../test/operator-world.js';
import { NO_RECORD, PAGE_EXAMPLES, PASSWORD, TOKEN, type PageExample } from '../../test/page-examples.js';
import {
  DASHBOARD_ORIGIN,
  PEOPLE,
  ROOT_COOKIE,
  startPagesWorld,
  type PagesWorld,
  type Who,
} from '../../test/pages-world.js';
import { PAGE_TABLE } from './routes.js';
import type { PageRoute } from './route.js';

let world: PagesWorld;
beforeAll(async () => {
  world = await startPagesWorld();
});
afterAll(() => world.stop());
beforeEach(() => {
  world.reset();
  world.edge.answer((response) => response.end('data: [DONE]\n\n'));
});

const exampleOf = ({ id }: PageRoute): PageExample => {
  const example = PAGE_EXAMPLES[id];
  if (example === undefined) throw new Error(`no example of ${id}`);
  return example;
};
type Row = readonly [string, PageRoute, PageExample];
const rows = PAGE_TABLE.map((route): Row => [`${route.method} ${route.path}`, route, exampleOf(route)]);
const ofAccounts = rows.filter(([, route]) => route.access === 'member' || route.access === 'manager');
const withSession = rows.filter(([, route]) => route.access !== 'anyone' && route.access !== 'operator');
const changing = rows.filter(([, route]) => route.method !== 'GET');

const pathOf = (example: PageExample, account = 'acc_1'): string => `/api${example.path.replace('{account}', account)}`;
const headersOf = (route: PageRoute): Record<string, string> => {
  if (route.access !== 'operator') return {};
  return { cookie: `gw_operator=${ROOT_COOKIE}`, 'x-csrf-token': world.secrets.csrfTokenOf(ROOT_COOKIE) };
};
const ask = (
  route: PageRoute,
  example: PageExample,
  more: Parameters<PagesWorld['send']>[2] = {},
  account?: string,
) => {
  world.script(example.answers);
  const { body } = example;
  const headers = { ...headersOf(route), ...more.headers };
  return world.send(route.method, pathOf(example, account), {
    ...(body === undefined ? {} : { body }),
    ...more,
    headers,
  });
};
const digestsOf = (token: string): string[] => [digestOfSecret(token, PEPPER), digestOfSecret(token, OLD_PEPPER)];
const expectError = (answer: Answer, code: PageErrorCode): void => {
  expect({ status: answer.status, code: errorOf(answer)?.code }).toEqual({ status: PAGE_ERRORS[code], code });
  expect(errorOf(answer).request_id).toBe(answer.headers.get('x-gateway-request-id'));
  expect(answer.headers.get('cache-control')).toBe('no-store');
};

test('every route has one example and every message for the dashboard is used', async () => {
  expect(new Set(PAGE_TABLE.map(({ id }) => id)).size).toBe(PAGE_TABLE.length);
  expect(Object.keys(PAGE_EXAMPLES).sort()).toEqual(PAGE_TABLE.map(({ id }) => id).sort());
  const examples = [...Object.values(PAGE_EXAMPLES), ...Object.values(EXAMPLES)];
  const used = new Set(examples.flatMap(({ answers }) => Object.keys(answers)));
  const ofHandlers = [
    'accounts.record-access',
    'accounts.find-operator-session',
    'accounts.begin-idempotent',
    'accounts.end-idempotent',
    'billing.apply-plans',
  ];
  const elsewhere = ['billing.refused-call'];
  const all = MESSAGES.filter((message) => message.kind === 'request' && message.sentBy.includes('dashboard'));
  const unused = all.map(({ name }) => name).filter((name) => !used.has(name));
  expect(unused.sort()).toEqual([...ofHandlers, ...elsewhere].sort());
});

test.each(rows)('%s responds as its contract declares and forbids caching', async (_name, route, example) => {
  const answer = await ask(route, example);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: example.status });
  if (example.schema !== null) {
    const parsed = example.schema.safeParse(answer.body);
    expect(parsed.error?.issues ?? []).toEqual([]);
    expect(parsed.data).toEqual(answer.body);
  }
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('x-gateway-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
});

test.each(changing)('%s sends the origin of its request with each command', async (_name, route, example) => {
  const answer = await ask(route, example, { headers: { 'user-agent': 'a browser' } });
  const origin = { client: '127.0.0.1', agent: 'a browser', requestId: answer.headers.get('x-gateway-request-id') };
  const authored = [...world.asked.map(({ body }) => body['author'] ?? body), ...world.noted] as { origin?: unknown }[];
  const origins = authored.flatMap((one) => (one.origin === undefined ? [] : [one.origin]));
  // The playground sends no command in this example, because its key is known.
  expect(origins.length > 0).toBe(route.id !== 'playground');
  for (const one of origins) expect(one).toEqual(origin);
});

test.each(withSession)('%s needs a session', async (_name, route, example) => {
  expectError(await ask(route, example, { who: null, csrf: 'x' }), 'not_signed_in');
  const ended = { cookie: `gw_session=${'z'.repeat(43)}` };
  expectError(await ask(route, example, { headers: ended }), 'not_signed_in');
  const twice = { cookie: `gw_session=${PEOPLE.owner.cookie}; gw_session=${PEOPLE.stranger.cookie}` };
  expectError(await ask(route, example, { headers: twice }), 'not_signed_in');
  expect(world.askedNames()).toEqual([]);
});

test.each(changing)('%s refuses a request from a foreign page', async (_name, route, example) => {
  for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:8082'])
    expectError(await ask(route, example, { headers: { origin } }), 'csrf');
  if (route.access !== 'anyone') {
    const theirs = world.secrets.csrfTokenOf(PEOPLE.stranger.cookie);
    for (const csrf of ['', 'guess', theirs])
      expectError(await ask(route, example, { headers: { 'x-csrf-token': csrf } }), 'csrf');
  } else {
    // Content types that a foreign form can send without a preflight request.
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
      expectError(await ask(route, example, { headers: { 'content-type': type } }), 'invalid_request');
  }
  expect(world.askedNames()).toEqual([]);
});

test.each(ofAccounts)('%s gets 404 for an account of other people', async (_name, route, example) => {
  expectError(await ask(route, example, {}, 'acc_9'), 'not_found');
  expectError(await ask(route, example, { who: 'stranger' }, 'acc_1'), 'not_found');
  expectError(await ask(route, example, {}, '..%2facc_1'), 'not_found');
  expect(world.askedNames()).toEqual([]);
  expect(world.edge.asked).toEqual([]);
});

// Changes are tested in access.test.ts.
test.each(ofAccounts.filter(([, { method }]) => method === 'GET'))(
  "%s does not give a member the owner's view",
  async (_name, route, example) => {
    const [owner, admin] = [await ask(route, example), await ask(route, example, { who: 'admin' })];
    expect(owner.status).toBe(example.status);
    expect(admin.status).toBe(example.status);
    world.reset();
    const member = await ask(route, example, { who: 'member' });
    if (route.access === 'manager') {
      expectError(member, 'forbidden');
      expect(world.askedNames()).toEqual([]);
    } else expect(member.status).not.toBe(404);
  },
);

test.each([
  ['rotate', 'POST', '/keys/key_9/rotate', { 'accounts.get-key': { key: { ...KEY, accountId: 'acc_9' } } }],
  ['revoke', 'POST', '/keys/key_9/revoke', { 'accounts.get-key': { key: { ...KEY, accountId: 'acc_9' } } }],
  [
    'a usage record',
    'GET',
    `/usage-records/${REQUEST_ID}`,
    { 'billing.usage-record': { record: { ...RECORD, accountId: 'acc_9' }, transactions: [] } },
  ],
  [
    'a refused call',
    'GET',
    `/usage-records/${REQUEST_ID}`,
    {
      ...NO_RECORD,
      'billing.refused-call': {
        account: 'acc_9',
        row: { minute: 0, code: 'no_funding', key: null, count: 1, lastIds: [REQUEST_ID] },
      },
    },
  ],
  ['a member', 'PUT', '/members/mem_9', { 'accounts.names': { keys: [], members: [] } }],
])("%s of another account is not found in the person's account", async (_name, method, path, answers) => {
  world.script(answers);
  const body = method === 'PUT' ? { body: { role: 'member' } } : {};
  expectError(await world.send(method, `/api/accounts/acc_1${path}`, body), 'not_found');
  const changes = ['accounts.rotate-key', 'accounts.set-key-state', 'accounts.put-member'];
  expect(world.askedNames().filter((name) => changes.includes(name))).toEqual([]);
});

test('a member reaches only their own keys and usage', async () => {
  const asMember = (method: string, path: string, body?: unknown) =>
    world.send(method, `/api/accounts/acc_1${path}`, { who: 'member', ...(body === undefined ? {} : { body }) });
  const asked = (name: string) => world.asked.find((one) => one.name === name)?.body;
  expectError(await asMember('GET', '/usage-records?memberId=mem_1'), 'forbidden');
  world.script(exampleOfId('getUsageRecord').answers);
  expectError(await asMember('GET', `/usage-records/${REQUEST_ID}`), 'forbidden');
  world.script(exampleOfId('createKey').answers);
  expect((await asMember('POST', '/keys', { name: 'a' })).status).toBe(201);
  expect(asked('accounts.create-key')).toMatchObject({ spec: { memberId: 'mem_3' }, author: { actor: 'user:usr_3' } });
  world.script(exampleOfId('listUsageRecords').answers);
  expect((await asMember('GET', '/usage-records')).status).toBe(200);
  expect(asked('billing.usage-records')).toMatchObject({ account: 'acc_1', member: 'mem_3' });
  const { path, answers } = exampleOfId('getUsageSeries');
  world.script(answers);
  expect((await world.send('GET', `/api${path.replace('{account}', 'acc_1')}`, { who: 'member' })).status).toBe(200);
  expect(asked('billing.usage-series')).toMatchObject({ member: 'mem_3' });
  world.script(exampleOfId('listKeys').answers);
  expect((await asMember('GET', '/keys')).status).toBe(200);
  expect(asked('accounts.list-keys')).toMatchObject({ member: 'mem_3' });
});

test('createKey repeated under one Idempotency-Key has one command and one secret', async () => {
  const begun: unknown[] = [];
  world.scriptByName('accounts.begin-idempotent', (body) => {
    begun.push(body);
    return { kind: 'begun', command: REQUEST_ID };
  });
  const create = (idempotencyKey: string) =>
    world.send('POST', '/api/accounts/acc_1/keys', {
      body: { name: 'a' },
      headers: { 'idempotency-key': idempotencyKey },
    });
  for (const repeated of [false, true]) {
    world.script({ 'accounts.create-key': { key: KEY, repeated } });
    const answer = await create('once');
    expect([answer.status, answer.body['secret'] === null]).toEqual([201, repeated]);
  }
  expect(begun[0]).toEqual({
    operator: 'user:usr_1',
    idempotencyKey: 'once',
    fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(begun[1]).toEqual(begun[0]);
  const asked = world.asked.filter(({ name }) => name === 'accounts.create-key').map(({ body }) => body);
  expect(asked).toEqual(Array(2).fill(expect.objectContaining({ command: REQUEST_ID })));
  expectError(await create('é'), 'invalid_request');
  world.script({ 'accounts.begin-idempotent': { kind: 'conflict' } });
  expectError(await create('once'), 'invalid_request');
});

const exampleOfId = (id: string): PageExample => {
  const example = PAGE_EXAMPLES[id];
  if (example === undefined) throw new Error(`no example of ${id}`);
  return example;
};

test('getOverview shows windows, allotments, debt and plan of the deciding state', async () => {
  const example = exampleOfId('getOverview');
  world.script(example.answers);
  const { body } = await world.send('GET', pathOf(example));
  expect(body).toMatchObject({
    plan: { id: 'pro', name: 'Pro' },
    limits: { requestsPerMinute: 60, concurrency: 10 },
    windows: [
      { type: 'weekly', limit: '20.00', used: '5.10', percent: 25 },
      { type: 'session_5h', limit: 3, used: 4, percent: 100 },
    ],
    allotments: [{ modelId: 'pub/model', limit: 9, used: 1 }],
    wallet: { balanceUsd: '-0.25' },
    debtUsd: '0.25',
  });
  world.script({
    'admission.usage': {
      kind: 'refused',
      id: REQUEST_ID,
      code: 'account_suspended',
      facts: {},
    },
  });
  const suspended = await world.send('GET', pathOf(example));
  expect(suspended.body).toMatchObject({ limits: null, windows: [], allotments: [], plan: { id: 'pro' } });
});

test('a rotated key is returned with its secret even if it is not in force yet', async () => {
  world.script({
    'accounts.get-key': { key: KEY },
    'accounts.rotate-key': { key: KEY, repeated: false, inForce: false },
  });
  const { status, body } = await world.send('POST', '/api/accounts/acc_1/keys/key_1/rotate');
  expect([status, body]).toEqual([200, { ...KEY, secret: expect.stringMatching(/^new_live_/), inForce: false }]);
});

test('the playground key is created on first use and has one secret', async () => {
  let known = false;
  world.scriptByName('admission.usage', () =>
    known
      ? exampleOfId('getOverview').answers['admission.usage']
      : { kind: 'refused', id: REQUEST_ID, code: 'invalid_api_key', facts: {} },
  );
  world.scriptByName('accounts.ensure-playground-key', () => {
    known = true;
    return { key: 'key_p' };
  });
  world.script({ 'catalog.list-models': exampleOfId('listModels').answers['catalog.list-models'] });
  const { body } = await world.send('GET', '/api/accounts/acc_1/models');
  expect(body).toMatchObject({ data: [{ id: 'pub/model', allowed: true }] });
  const owner = { account: 'acc_1', member: 'mem_1' };
  const [digest] = world.secrets.playgroundKey(owner).digests;
  const ensured = world.asked.find(({ name }) => name === 'accounts.ensure-playground-key');
  expect(ensured?.body).toMatchObject({ ...owner, digest, author: { actor: 'user:usr_1' } });
});

test('listModels shows the prices that requests are charged', async () => {
  const [model] = (exampleOfId('listModels').answers['catalog.list-models'] as { models: object[] }).models;
  const prices = {
    inputPerMillion: '3',
    cachedInputPerMillion: '0.3',
    cacheWritePerMillion: '3.75',
    outputPerMillion: '15',
  };
  const tiers = [{ aboveInputTokens: 200_000, inputPerMillion: '6', outputPerMillion: '30' }];
  const models = ['pub/chat', 'pub/claude'].map((id) => ({ ...model, id, prices: { ...prices, tiers } }));
  world.script({ ...exampleOfId('listModels').answers });
  world.scriptByName('catalog.list-models', () => ({ models, onMessages: ['pub/claude'], nextCursor: null }));
  const { body } = await world.send('GET', '/api/accounts/acc_1/models');
  const scaled = { cachedInputPerMillion: '0.60', cacheWritePerMillion: '7.50' };
  expect(body).toMatchObject({
    data: [
      { prices: { cacheWrite1hPerMillion: '3.75', tiers: [{ ...scaled, cacheWrite1hPerMillion: '7.50' }] } },
      { prices: { cacheWrite1hPerMillion: '6.00', tiers: [{ ...scaled, cacheWrite1hPerMillion: '12.00' }] } },
    ],
  });
});

test('series and statements name playground keys, and removed members by address', async () => {
  const key = (id: string, email: string) => ({ id, name: 'Playground', kind: 'playground', member: 'mem_1', email });
  const names = (...keys: object[]) => ({
    'accounts.names': { keys, members: [{ id: 'mem_1', email: 'left@example.com' }] },
  });
  const example = exampleOfId('getStatement');
  world.script({ ...example.answers, ...names(key('key_1', 'ada@example.com')) });
  const alone = await world.send('GET', pathOf(example));
  expect(alone.body).toMatchObject({ byKey: [{ label: 'Playground' }], byMember: [{ label: 'left@example.com' }] });
  world.script(names(key('key_1', 'ada@example.com'), key('key_2', 'eve@example.com')));
  const several = await world.send('GET', pathOf(example));
  expect(several.body).toMatchObject({ byKey: [{ keyId: 'key_1', label: 'Playground (ada@example.com)' }] });
  const series = exampleOfId('getUsageSeries');
  world.script({ ...series.answers, ...names(key('key_1', 'ada@example.com'), key('key_2', 'eve@example.com')) });
  const { text } = await world.send('GET', pathOf(series));
  expect(text).toContain('Playground (ada@example.com)');
});

test('customers see neither provider costs nor the operator of an entry', async () => {
  for (const id of ['listUsageRecords', 'getUsageRecord', 'exportUsageRecords'] as const) {
    const example = exampleOfId(id);
    world.script(example.answers);
    const { text, status } = await world.send('GET', pathOf(example));
    expect(status).toBe(200);
    expect(text).toContain(REQUEST_ID);
    expect(text).not.toMatch(/cost|0\.77/i);
  }
  const none = { requestId: null, corrects: null, at: null, reference: null, relatesTo: null };
  const said = { kind: 'credit', actor: 'operator:grace', reason: '=1+1', amountUsd: '-5.00' };
  const line = { entryId: `${REQUEST_ID}.1`, transactionId: REQUEST_ID, ledgerAccount: 'funding', ...none, ...said };
  const text = `${JSON.stringify(line)}\n`;
  const page = exportPage(text, line.entryId);
  world.script({ 'billing.export-ledger-entries': page });
  const csv = await world.send('GET', '/api/accounts/acc_1/export/ledger-entries');
  expect(csv.text).toMatch(/^entryId,transactionId,kind,/);
  expect(csv.text).not.toContain('grace');
  expect(csv.text).toContain(',-5.00,,,"\'=1+1"');
});

test('getUsageRecord shows class and tools of a request', async () => {
  const served = { class: 'priority', units: { web_search: 2 }, kinds: null };
  const answer = { record: { ...RECORD, ...served }, transactions: [] };
  const example = exampleOfId('getUsageRecord');
  world.script({ ...example.answers, 'billing.usage-record': answer });
  expect((await world.send('GET', pathOf(example))).body).toMatchObject(served);
});

test('refused requests are counted by hour and code, with the newest IDs first', async () => {
  const ids = Array.from({ length: 7 }, (_, at) => `0193a1b2-0000-7000-8000-00000000000${at}`);
  const minute = Date.UTC(2026, 10, 20, 12, 30);
  const row = (at: number, key: string, lastIds: string[]) => ({
    minute: at,
    code: 'no_funding',
    key,
    count: 4,
    lastIds,
  });
  world.script({
    'billing.refused-calls': {
      rows: [row(minute, 'key_1', ids.slice(4)), row(minute - 60_000, 'key_2', ids.slice(0, 4))],
      more: false,
      totals: [{ code: 'no_funding', count: 8 }],
    },
    'accounts.names': {
      keys: [
        { id: 'key_1', name: 'Playground', kind: 'playground', member: 'mem_1', email: 'ada@example.com' },
        { id: 'key_2', name: 'Playground', kind: 'playground', member: 'mem_3', email: 'eve@example.com' },
      ],
      members: [],
    },
  });
  const path = `/api/accounts/acc_1/refusals?from=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z`;
  const { body } = await world.send('GET', path);
  const shown = [6, 5, 4, 3, 2].map((at) => ids[at]);
  expect(body).toMatchObject({
    data: [{ start: '2026-11-20T12:00:00.000Z', code: 'no_funding', count: 8, lastRequestIds: shown }],
    totals: [{ code: 'no_funding', count: 8 }],
  });
  const own = await world.send('GET', path, { who: 'member' });
  expect(own.body).toMatchObject({ data: [{ count: 4 }], totals: [{ code: 'no_funding', count: 4 }] });
  const long = '/api/accounts/acc_1/refusals?from=2026-01-01T00:00:00Z&to=2026-11-21T00:00:00Z';
  expectError(await world.send('GET', long), 'invalid_request');
  const reason = { account: 'acc_1', row: row(minute, 'key_1', [REQUEST_ID]) };
  world.script({ ...NO_RECORD, 'billing.refused-call': reason });
  const call = await world.send('GET', `/api/accounts/acc_1/usage-records/${REQUEST_ID}`);
  expect(call.body).toEqual({
    requestId: REQUEST_ID,
    refused: { code: 'no_funding', at: new Date(minute).toISOString() },
  });
});

test('signIn replaces an existing session and its cookie is for this site alone', async () => {
  const { body, answers } = exampleOfId('signIn');
  const fixed = PEOPLE.stranger.cookie;
  const values = new Set<string>();
  for (let again = 0; again < 2; again += 1) {
    world.reset();
    world.script(answers);
    const answer = await world.send('POST', '/api/sign-in', { who: 'stranger', body });
    const [cookie = ''] = answer.headers.getSetCookie();
    expect(cookie).toMatch(/^gw_session=[\w-]{43}; Path=\/; HttpOnly; Max-Age=2592000; SameSite=Strict$/);
    const value = cookie.slice('gw_session='.length, cookie.indexOf(';'));
    values.add(value);
    expect(answer.body['csrfToken']).toBe(world.secrets.csrfTokenOf(value));
    const asked = (name: string) => world.asked.find((one) => one.name === name)?.body;
    expect(asked('accounts.create-session')).toMatchObject({ digest: world.secrets.digestsOf(value)[0] });
    expect(asked('accounts.end-session')).toMatchObject({ digests: world.secrets.digestsOf(fixed), everywhere: false });
  }
  expect(values.size).toBe(2);
  expect(values.has(fixed)).toBe(false);
});

test('signIn responds equally to a wrong password and an unknown address', async () => {
  const body = { email: 'ada@example.com', password: 'a wrong password' };
  const known = exampleOfId('signIn').answers['accounts.begin-sign-in'];
  const seen = [];
  for (const begun of [known, { kind: 'proceed', user: null }]) {
    world.reset();
    world.script({ 'accounts.begin-sign-in': begun });
    const answer = await world.send('POST', '/api/sign-in', { who: null, body });
    expectError(answer, 'invalid_credentials');
    expect(answer.headers.getSetCookie()).toEqual([]);
    const { message, param } = errorOf(answer);
    const names = [...answer.headers.keys()].filter((name) => name !== 'date').sort();
    seen.push({ message, param, names, asked: world.askedNames() });
  }
  expect(seen[0]).toEqual(seen[1]);
  world.script({ 'accounts.begin-sign-in': { kind: 'throttled', retryAfterSeconds: 77 } });
  const throttled = await world.send('POST', '/api/sign-in', { who: null, body });
  expectError(throttled, 'too_many_attempts');
  expect(throttled.headers.get('retry-after')).toBe('77');
  world.script({ 'accounts.create-session': { session: null }, 'accounts.begin-sign-in': known });
  const changed = await world.send('POST', '/api/sign-in', { who: null, body: { ...body, password: PASSWORD } });
  expectError(changed, 'invalid_credentials');
});

test('an email token is looked up before a password is hashed and sent as digest', async () => {
  for (const path of ['/api/reset-password', '/api/accept-invitation']) {
    world.reset();
    world.script({ 'accounts.find-mail-token': { kind: 'token_invalid' } });
    const answer = await world.send('POST', path, { who: null, body: { token: TOKEN, password: PASSWORD } });
    expectError(answer, 'token_invalid');
    expect(world.askedNames()).toEqual(['accounts.find-mail-token']);
  }
  for (const token of ['', 'short', `${TOKEN}=`, 5]) {
    const answer = await world.send('POST', '/api/verify-email', { who: null, body: { token, password: PASSWORD } });
    expectError(answer, 'invalid_request');
  }
  for (const password of ['short', 'x'.repeat(201)]) {
    const answer = await world.send('POST', '/api/reset-password', { who: null, body: { token: TOKEN, password } });
    expectError(answer, 'invalid_request');
  }
});

test('no secret is on the bus, in a log line or in another response', async () => {
  const secrets: string[] = [PASSWORD, TOKEN, ROOT_TOKEN, ...Object.values(PEOPLE).map(({ cookie }) => cookie)];
  const all: unknown[] = [];
  for (const [, route, example] of rows) {
    world.reset();
    const answer = await ask(route, example);
    const { secret } = answer.body;
    if (typeof secret === 'string') secrets.push(secret);
    all.push(world.asked);
  }
  secrets.push(world.secrets.playgroundKey({ account: 'acc_1', member: 'mem_1' }).secret);
  const text = JSON.stringify([all, world.log.lines]);
  expect(secrets.length).toBeGreaterThan(9);
  for (const secret of secrets) expect(text).not.toContain(secret);
});

test("an operator's session has its own cookie and the operator API's rules", async () => {
  const signIn = await world.send('POST', '/api/operator/sign-in', { who: null, body: { token: ROOT_TOKEN } });
  expect(signIn.status).toBe(200);
  expect(signIn.body).toMatchObject({ user: null, accounts: [], operator: { name: 'root', role: 'admin' } });
  const [line = ''] = signIn.headers.getSetCookie();
  expect(line).toMatch(/^gw_operator=[\w-]{43}; Path=\/; HttpOnly; Max-Age=28800; SameSite=Strict$/);
  expect(line).not.toContain(ROOT_TOKEN);
  const cookie = line.slice(0, line.indexOf(';'));
  const csrf = signIn.body['csrfToken'] as string;
  const asOperator = (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) =>
    world.send(method, `/api/operator/v1${path}`, { who: null, body, headers: { cookie, ...headers } });

  expect((await world.send('GET', '/api/session', { who: null, headers: { cookie } })).body).toEqual(signIn.body);
  world.script(EXAMPLES['listAccounts']?.answers ?? {});
  const list = await asOperator('GET', '/accounts');
  expect([list.status, list.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect((await world.send('HEAD', '/api/operator/v1/accounts', { who: null, headers: { cookie } })).status).toBe(200);
  world.script(EXAMPLES['suspendAccount']?.answers ?? {});
  expectError(await asOperator('POST', '/accounts/acc_1/suspend'), 'csrf');
  expectError(
    await asOperator('POST', '/accounts/acc_1/suspend', { 'x-csrf-token': csrf, origin: 'http://x' }),
    'csrf',
  );
  expect((await asOperator('POST', '/accounts/acc_1/suspend', { 'x-csrf-token': csrf })).status).toBe(200);
  expect(world.asked.at(-1)?.body).toMatchObject({ author: { actor: 'operator:root' } });
  // Neither a person's session nor a token in a header is accepted.
  expectError(await world.send('GET', '/api/operator/v1/accounts'), 'not_signed_in');
  const bearer = { authorization: `Bearer ${ROOT_TOKEN}` };
  expectError(await world.send('GET', '/api/operator/v1/accounts', { who: null, headers: bearer }), 'not_signed_in');
  expectError(await asOperator('GET', '/accounts', { cookie: `${cookie.slice(0, -4)}AAAA` }), 'not_signed_in');
  expectError(await asOperator('GET', '/nothing'), 'not_found');
  const people = { cookie: `gw_operator=${PEOPLE.owner.cookie}` };
  expectError(await asOperator('GET', '/accounts', people), 'not_signed_in');
});

test("an operator's sign-out ends the session, also of root", async () => {
  const named = secretFrom('mgo_', 'c'.repeat(40));
  world.scriptByName('accounts.find-operator', () => ({ operator: OPERATOR }));
  world.script(EXAMPLES['listAccounts']?.answers ?? {});
  for (const token of [ROOT_TOKEN, named]) {
    const signIn = await world.send('POST', '/api/operator/sign-in', { who: null, body: { token } });
    const [line = ''] = signIn.headers.getSetCookie();
    const headers = { cookie: line.slice(0, line.indexOf(';')), 'x-csrf-token': String(signIn.body['csrfToken']) };
    const list = () => world.send('GET', '/api/operator/v1/accounts', { who: null, headers });
    expect((await list()).status).toBe(200);
    expect((await world.send('POST', '/api/operator/sign-out', { who: null, headers })).status).toBe(204);
    expectError(await list(), 'not_signed_in');
    expectError(await world.send('GET', '/api/session', { who: null, headers }), 'not_signed_in');
  }
});

const { session: owned } = PEOPLE.owner;
test.each([
  ['whose session has ended', null, 401, 'not_signed_in'],
  ['who was removed from the account', { ...owned, accounts: [] }, 404, 'not_found'],
  [
    'who is a member only',
    { ...owned, accounts: owned.accounts.map((account) => ({ ...account, role: 'member' })) },
    403,
    'forbidden',
  ],
])('a person %s while the body was awaited changes nothing', async (_who, later, status, code) => {
  let session: object | null = owned;
  world.scriptByName('accounts.find-session', () => ({ session }));
  const { body, path } = exampleOfId('putMember');
  const answer = await sendInPieces(
    world.dashboard,
    `${world.dashboard.pagesUrl}/api${path.replace('{account}', 'acc_1')}`,
    {
      method: 'PUT',
      body: body as object,
      headers: {
        cookie: `gw_session=${PEOPLE.owner.cookie}`,
        'x-csrf-token': world.secrets.csrfTokenOf(PEOPLE.owner.cookie),
      },
    },
    () => (session = later),
  );
  expect([answer.status, errorOf(answer).code]).toEqual([status, code]);
  expect(world.askedNames()).toEqual([]);
});

test('an operator whose session ended while the body was awaited changes nothing', async () => {
  const answer = await sendInPieces(
    world.dashboard,
    `${world.dashboard.pagesUrl}/api/operator/v1/accounts`,
    {
      body: { name: 'Ada', email: 'ada@example.com' },
      headers: {
        cookie: `gw_operator=${ROOT_COOKIE}`,
        'x-csrf-token': world.secrets.csrfTokenOf(ROOT_COOKIE),
      },
    },
    () => world.operatorSessions.clear(),
  );
  expect([answer.status, errorOf(answer).code]).toEqual([401, 'invalid_operator_token']);
  expect(world.askedNames()).toEqual([]);
});

test("an operator's session is checked against the current root tokens", async () => {
  await world.send('POST', '/api/operator/sign-in', { who: null, body: { token: ROOT_TOKEN } });
  const [rootDigest] = digestsOf(ROOT_TOKEN);
  const made = world.asked.find(({ name }) => name === 'accounts.create-operator-session')?.body;
  expect(made?.['holder']).toEqual({ kind: 'root', rootDigest });
  await world.send('GET', '/api/session', { who: null, headers: { cookie: `gw_operator=${ROOT_COOKIE}` } });
  const found = world.asked.find(({ name }) => name === 'accounts.find-operator-session')?.body;
  expect(found?.['rootDigests']).toEqual([...digestsOf(ROOT_TOKEN), ...digestsOf(OLD_ROOT_TOKEN)]);
});

test('operators cannot sign in on the pages unless it is enabled', async () => {
  const off = await startPagesWorld({ GATEWAY_DASHBOARD_OPERATORS: false });
  try {
    const headers = { cookie: `gw_operator=${ROOT_COOKIE}`, 'x-csrf-token': off.secrets.csrfTokenOf(ROOT_COOKIE) };
    for (const [method, path, body] of [
      ['POST', '/api/operator/sign-in', { token: ROOT_TOKEN }],
      ['POST', '/api/operator/sign-out', {}],
      ['GET', '/api/operator/v1/accounts', undefined],
      ['GET', '/api/operator/v1/openapi.json', undefined],
    ] as const) {
      expectError(await off.send(method, path, { who: null, headers, ...(body ? { body } : {}) }), 'not_found');
    }
    expectError(await off.send('GET', '/api/session', { who: null, headers }), 'not_signed_in');
    expect((await off.send('GET', '/api/config', { who: null })).body).toMatchObject({ operatorsEnabled: false });
    expect(off.asked).toEqual([]);
  } finally {
    await off.stop();
  }
});

/** Sends a message to the playground and returns the raw response. */
function fetchTurn(who: Who, signal: AbortSignal | null = null): Promise<Response> {
  return fetch(`${world.dashboard.pagesUrl}/api/accounts/acc_1/playground`, {
    method: 'POST',
    headers: {
      cookie: `gw_session=${PEOPLE[who].cookie}`,
      'x-csrf-token': world.secrets.csrfTokenOf(PEOPLE[who].cookie),
      'content-type': 'application/json',
    },
    body: JSON.stringify(exampleOfId('playground').body),
    signal,
  });
}

test('the playground streams the response, with the ID of the request', async () => {
  // The key belongs to the member who sends the message, so their cap applies and the usage is
  // theirs.
  const { secret } = world.secrets.playgroundKey({ account: 'acc_1', member: 'mem_3' });
  let more: () => void = () => undefined;
  world.edge.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-gateway-request-id': REQUEST_ID });
    response.write('data: one\n\n');
    more = () => response.end('data: [DONE]\n\n');
  });
  const { body } = exampleOfId('playground');
  const response = await fetchTurn('member');
  expect([response.status, response.headers.get('x-gateway-request-id')]).toEqual([200, REQUEST_ID]);
  const reader = response.body!.getReader();
  expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('data: one\n\n');
  more();
  expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('data: [DONE]\n\n');
  expect(world.edge.asked[0]).toMatchObject({
    authorization: `Bearer ${secret}`,
    body: { ...(body as object), stream: true, stream_options: { include_usage: true } },
  });
});

test('a page that disconnects ends its playground request', async () => {
  world.edge.answer((response) => void response.writeHead(200).write('data: one\n\n'));
  const leaving = new AbortController();
  const response = await fetchTurn('owner', leaving.signal);
  await response.body!.getReader().read();
  leaving.abort();
  await until('the edge sees it', () => world.edge.asked[0]?.gone === true);
  await until('nothing is open', () => world.dashboard.requestsOpen() === 0);
});

test('the playground passes on refusals and creates its key if it is unknown', async () => {
  const turn = () => world.send('POST', '/api/accounts/acc_1/playground', exampleOfId('playground') as object);
  world.edge.answer((response) => {
    response.writeHead(429, {
      'content-type': 'application/json',
      'retry-after': '31',
      'x-gateway-request-id': REQUEST_ID,
    });
    response.end(JSON.stringify({ error: { code: 'rate_limited', message: 'later', request_id: REQUEST_ID } }));
  });
  const limited = await turn();
  expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '31']);
  expect(errorOf(limited)).toMatchObject({ code: 'rate_limited', request_id: REQUEST_ID });
  let keys = 0;
  world.scriptByName('accounts.ensure-playground-key', () => ({ key: `key_${(keys += 1)}` }));
  const unknown = JSON.stringify({ error: { code: 'invalid_api_key' } });
  world.edge.answer((response) =>
    keys === 0 ? response.writeHead(401).end(unknown) : response.end('data: [DONE]\n\n'),
  );
  expect((await turn()).status).toBe(200);
  expect(keys).toBe(1);
  world.edge.answer((response) => void response.writeHead(401).end(unknown));
  expectError(await turn(), 'dependency_unavailable');
  world.refuseByName('accounts.ensure-playground-key', 'not_in_force');
  expectError(await turn(), 'not_in_force');
  world.edge.answer((response) => void response.destroy());
  expectError(await turn(), 'dependency_unavailable');
});

test.each([
  ['a provider that refused', JSON.stringify({ error: { code: 'upstream_auth_error', message: 'tell the operator' } })],
  ['no text that can be read', '<html>'],
  ['nothing', ''],
  [
    'more than is read for a code',
    JSON.stringify({ error: { code: 'invalid_api_key', message: 'x'.repeat(200_000) } }),
  ],
])('a 401 of the gateway with %s passes on and creates no key', async (_what, text) => {
  world.edge.answer((response) => {
    response.writeHead(401, { 'content-type': 'application/json', 'x-gateway-request-id': REQUEST_ID });
    response.end(text);
  });
  const response = await fetchTurn('owner');
  expect([response.status, response.headers.get('x-gateway-request-id')]).toEqual([401, REQUEST_ID]);
  expect(await response.text()).toBe(text);
  expect(world.edge.asked).toHaveLength(1);
  expect(world.askedNames()).toEqual([]);
});

test('a service that is away gets 503, never 401', async () => {
  world.away('accounts');
  for (const who of ['owner', 'member'] as Who[])
    expectError(await world.send('GET', '/api/accounts/acc_1/keys', { who }), 'dependency_unavailable');
  expectError(await world.send('GET', '/api/session'), 'dependency_unavailable');
});

test('an unknown field, parameter or path is refused with its place', async () => {
  const post = (body: unknown) => world.send('POST', '/api/accounts/acc_1/keys', { body });
  for (const [body, param] of [
    [{ name: 'a', expiresAt: '2027-01-01T00:00:00Z' }, 'expiresAt'],
    [{ name: '' }, 'name'],
    [{ name: 'a', monthlySpendCapUsd: 5 }, 'monthlySpendCapUsd'],
    [{ name: 'a', monthlySpendCapUsd: '0' }, 'monthlySpendCapUsd'],
  ] as const) {
    const answer = await post(body);
    expectError(answer, 'invalid_request');
    expect(errorOf(answer).param).toBe(param);
  }
  expectError(await world.send('GET', '/api/accounts/acc_1/keys?limit=0'), 'invalid_request');
  expectError(await world.send('GET', '/api/accounts/acc_1/keys?page=2'), 'invalid_request');
  expectError(await world.send('GET', '/api/nothing'), 'not_found');
  expectError(await world.send('DELETE', '/api/session'), 'not_found');
  expectError(await world.send('POST', '/sign-in', { body: {} }), 'not_found');
});

test('pages and files have a strict policy and their caching time', async () => {
  const page = await world.send('GET', '/accounts/acc_1/whatever', { who: null });
  const policy = page.headers.get('content-security-policy') ?? '';
  const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? '';
  expect(nonce.length).toBeGreaterThan(20);
  expect(page.text).toBe(`<html><meta name="csp-nonce" content="${nonce}"></html>`);
  expect(policy).toContain("default-src 'none'; script-src 'self';");
  expect(policy).not.toContain('unsafe');
  expect(policy).toContain("frame-ancestors 'none'");
  expect(page.headers.get('cache-control')).toBe('no-store');
  expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  expect((await world.send('GET', '/', { who: null })).headers.get('content-security-policy')).not.toBe(policy);
  const asset = await world.send('GET', '/assets/app-1234.js', { who: null });
  expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(asset.headers.get('content-encoding')).toBe('gzip');
  expect(asset.text).toBe('export const app = 1;\n'.repeat(200));
  expect((await world.send('GET', '/favicon.svg', { who: null })).headers.get('cache-control')).toContain('3600');
  for (const path of ['/assets/app-1234.js.map', '/assets/none.js']) {
    expect((await world.send('GET', path, { who: null })).status).toBe(404);
  }
  const outside = await world.send('GET', '/..%2f..%2fpackage.json', { who: null });
  expect(outside.text).not.toContain('dependencies');
  const head = await world.send('HEAD', '/assets/app-1234.js', { who: null });
  expect([head.status, head.text]).toEqual([200, '']);
});

test('policy violations are counted and logged at most 20 times a minute', async () => {
  const report = {
    'csp-report': { 'effective-directive': 'script-src', 'blocked-uri': 'inline', extra: 'x'.repeat(500) },
  };
  for (let again = 0; again < 30; again += 1) {
    const headers = { 'content-type': 'application/csp-report' };
    expect((await world.send('POST', '/api/csp-report', { who: null, body: report, headers })).status).toBe(204);
  }
  const lines = world.log.lines.filter(({ text }) => text === 'a page violated its content security policy');
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length).toBeLessThanOrEqual(20);
  expect(lines[0]?.facts).toEqual({ directive: 'script-src', blocked: 'inline' });
});

test('cookies and HSTS depend on TLS, and pages report that TLS is missing', async () => {
  const { body, answers } = exampleOfId('signIn');
  const origin = 'https://gateway.example';
  const tls = await startPagesWorld({ GATEWAY_DASHBOARD_URL: `${origin}/` });
  try {
    tls.script(answers);
    const answer = await tls.send('POST', '/api/sign-in', { who: null, body, headers: { origin } });
    const [line = ''] = answer.headers.getSetCookie();
    expect(line).toMatch(/^__Host-gw_session=[\w-]{43}; Path=\/; HttpOnly; Max-Age=2592000; Secure; SameSite=Lax$/);
    expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000');
    expect((await tls.send('GET', '/api/config', { who: null })).body).toMatchObject({ tlsNeeded: false });
    expectError(await tls.send('POST', '/api/sign-in', { who: null, body }), 'csrf');
    // The cookie of plain HTTP is not accepted here, because anyone on the network path could have
    // set it.
    expectError(await tls.send('GET', '/api/session'), 'not_signed_in');
    const cookie = `__Host-gw_session=${PEOPLE.owner.cookie}`;
    expect((await tls.send('GET', '/api/session', { who: null, headers: { cookie } })).status).toBe(200);
  } finally {
    await tls.stop();
  }
  const plain = await startPagesWorld({
    GATEWAY_DASHBOARD_URL: 'http://gateway.example',
    GATEWAY_SIGN_UP_ENABLED: false,
  });
  try {
    const config = await plain.send('GET', '/api/config', { who: null });
    expect(config.body).toMatchObject({ tlsNeeded: true, signUpEnabled: false });
    expect(config.headers.get('strict-transport-security')).toBeNull();
    const { body: wish } = exampleOfId('signUp');
    const headers = { origin: 'http://gateway.example' };
    expectError(await plain.send('POST', '/api/sign-up', { who: null, body: wish, headers }), 'forbidden');
  } finally {
    await plain.stop();
  }
});

test('all loopback names are own origins', async () => {
  const { body, answers } = exampleOfId('forgotPassword');
  world.script(answers);
  for (const origin of [DASHBOARD_ORIGIN, 'http://localhost:8081', 'http://[::1]:8081']) {
    expect((await world.send('POST', '/api/forgot-password', { who: null, body, headers: { origin } })).status).toBe(
      202,
    );
  }
});
