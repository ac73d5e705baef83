import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { send, ROOT_TOKEN } from '../../test/operator-world.js';
import { PASSWORD_HASH, PAGE_EXAMPLES, PASSWORD } from '../../test/page-examples.js';
import { startPagesWorld, type PagesWorld } from '../../test/pages-world.js';
import { secretFrom } from '@gateway/contracts/ids';

let world: PagesWorld;
beforeAll(async () => {
  world = await startPagesWorld({ GATEWAY_DASHBOARD_PROXIES: 1 });
});
afterAll(() => world.stop());

const BROWSER = 'a browser'.padEnd(400, '.');
const from = (address: string) => ({ 'x-forwarded-for': address, 'user-agent': BROWSER });
const seenFrom = (client: string) => ({ client, agent: BROWSER.slice(0, 200), requestId: expect.any(String) });
const TOKEN = secretFrom('mgo_', 'a'.repeat(40));
const signIn = (email: string, address: string) =>
  world.send('POST', '/api/sign-in', { who: null, body: { email, password: PASSWORD }, headers: from(address) });

test('operator sign-ins and exports are in the audit log before the response', async () => {
  const headers = from('192.0.2.1');
  await world.send('POST', '/api/operator/sign-in', { who: null, body: { token: ROOT_TOKEN }, headers });
  world.script(PAGE_EXAMPLES['exportUsageRecords']?.answers ?? {});
  const path = '/api/accounts/acc_1/export/usage-records';
  const file = await world.send('GET', path, { headers });
  expect(file.status).toBe(200);
  const origin = seenFrom('192.0.2.1');
  expect(world.noted).toEqual([
    { kind: 'access', action: 'operator_sign_in', actor: 'operator:root', account: null, objectId: 'root', origin },
    {
      kind: 'access',
      action: 'export',
      actor: 'user:usr_1',
      account: 'acc_1',
      objectId: 'exportUsageRecords',
      origin: { ...origin, requestId: file.headers.get('x-gateway-request-id') },
    },
  ]);
  world.away('accounts');
  expect((await world.send('GET', path, { headers })).status).toBe(503);
  world.reset();
});

test("an operator's sign-out gets one audit entry", async () => {
  const headers = from('192.0.2.4');
  const signedIn = await world.send('POST', '/api/operator/sign-in', {
    who: null,
    body: { token: ROOT_TOKEN },
    headers,
  });
  const [line = ''] = signedIn.headers.getSetCookie();
  const signed = {
    ...headers,
    cookie: line.slice(0, line.indexOf(';')),
    'x-csrf-token': String(signedIn.body['csrfToken']),
  };
  const signOut = () => world.send('POST', '/api/operator/sign-out', { who: null, headers: signed });
  world.noted.length = 0;
  expect([(await signOut()).status, (await signOut()).status]).toEqual([204, 401]);
  const origin = seenFrom('192.0.2.4');
  expect(world.noted).toEqual([
    { kind: 'access', action: 'operator_sign_out', actor: 'operator:root', account: null, objectId: 'root', origin },
  ]);
  world.reset();
});

test('refused attempts are counted by network, actor and action', async () => {
  world.script({ 'accounts.begin-sign-in': { kind: 'proceed', user: null } });
  for (let n = 0; n < 3; n += 1) expect((await signIn(`nobody${n}@example.com`, '192.0.2.2')).status).toBe(401);
  const wrong = PASSWORD_HASH.replace(/[^$]+$/, 'b3RoZXI');
  world.script({ 'accounts.begin-sign-in': { kind: 'proceed', user: { id: 'usr_5', passwordHash: wrong } } });
  for (let n = 0; n < 2; n += 1) expect((await signIn('ada@example.com', '192.0.2.2')).status).toBe(401);
  const headers = from('192.0.2.3');
  await world.send('GET', '/api/accounts/acc_9/overview', { headers });
  await world.send('GET', '/api/accounts/acc_1/members', { who: 'member', headers });
  world.script({ 'accounts.find-operator': { operator: null } });
  const api = `${world.dashboard.operatorUrl}/operator/v1/accounts`;
  for (let n = 0; n < 4; n += 1) await send(api, 'GET', { token: TOKEN });
  await send(api, 'GET', { token: null });
  const created = {
    id: 'opr_1',
    name: 'rita',
    role: 'readonly',
    createdAt: new Date(0).toISOString(),
    createdBy: 'root',
  };
  world.script({ 'accounts.find-operator': { operator: created } });
  await send(api, 'POST', { token: TOKEN, body: {} });
  // Counts are written each minute and on stop, so nothing was written during the attempts.
  expect(world.noted).toEqual([]);
  await world.dashboard.stop();
  const refused = (action: string, actor: string, objectId: string, attempts: number, client: string) => ({
    kind: 'refused',
    action,
    actor,
    account: objectId === 'listMembers' ? 'acc_1' : null,
    objectId,
    attempts,
    since: expect.any(Number),
    origin: expect.objectContaining({ client }),
  });
  const expected = [
    refused('sign_in_refused', 'stranger', 'unknown', 3, '192.0.2.2'),
    refused('sign_in_refused', 'stranger', 'usr_5', 2, '192.0.2.2'),
    refused('access_refused', 'user:usr_1', 'getOverview', 1, '192.0.2.3'),
    refused('access_refused', 'user:usr_3', 'listMembers', 1, '192.0.2.3'),
    refused('operator_token_refused', 'stranger', 'unknown', 4, '127.0.0.1'),
    refused('access_refused', 'operator:rita', 'createAccount', 1, '127.0.0.1'),
  ];
  expect(world.noted).toHaveLength(expected.length);
  expect(world.noted).toEqual(expect.arrayContaining(expected));
});
