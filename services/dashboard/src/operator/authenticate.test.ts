import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { digestOfSecret, secretFrom } from '@gateway/contracts/ids';
import { ACCOUNT, OPERATOR } from '../../test/examples.js';
import {
  errorOf,
  OLD_PEPPER,
  OLD_ROOT_TOKEN,
  PEPPER,
  ROOT_TOKEN,
  startOperatorWorld,
  type OperatorWorld,
} from '../../test/operator-world.js';

const TOKEN = secretFrom('mgo_', '0123456789'.repeat(4));

let world: OperatorWorld;
beforeAll(async () => {
  world = await startOperatorWorld();
});
afterAll(() => world.stop());
beforeEach(() => {
  world.reset();
  world.scriptByName('accounts.get-account', () => ({ account: ACCOUNT }));
  world.scriptByName('accounts.set-account-state', () => ({ account: ACCOUNT }));
});

test.each([ROOT_TOKEN, OLD_ROOT_TOKEN])(
  'the token of the deployment, current or previous, is root: nobody is asked',
  async (token) => {
    expect((await world.send('POST', '/accounts/acc_1/suspend', { token })).status).toBe(200);
    expect(world.asked).toEqual([
      { name: 'accounts.set-account-state', body: { account: 'acc_1', verb: 'suspend', actor: 'operator:root' } },
    ]);
  },
);

test('a named operator is found by the digests under both peppers, anew for each request', async () => {
  world.scriptByName('accounts.find-operator', () => ({ operator: OPERATOR }));
  expect((await world.send('POST', '/accounts/acc_1/suspend', { token: TOKEN })).status).toBe(200);
  const digests = [digestOfSecret(TOKEN, PEPPER), digestOfSecret(TOKEN, OLD_PEPPER)];
  expect(world.asked[0]).toEqual({ name: 'accounts.find-operator', body: { digests } });
  expect(world.asked[1]?.body).toMatchObject({ actor: 'operator:grace' });
  world.scriptByName('accounts.find-operator', () => ({ operator: null }));
  const refused = await world.send('POST', '/accounts/acc_1/suspend', { token: TOKEN });
  expect([refused.status, errorOf(refused).code]).toEqual([401, 'invalid_operator_token']);
});

test('while accounts is away root still works, and a named operator gets 503', async () => {
  world.scriptByName('catalog.list-providers', () => ({ providers: [], nextCursor: null }));
  world.away('accounts');
  expect((await world.send('GET', '/providers')).status).toBe(200);
  const answer = await world.send('GET', '/providers', { token: TOKEN });
  expect([answer.status, errorOf(answer).code]).toEqual([503, 'dependency_unavailable']);
});

test.each([
  ['Basic abc', 401],
  ['Bearer', 401],
  [`bearer ${ROOT_TOKEN}`, 200],
  [`Bearer  ${ROOT_TOKEN} `, 200],
  [`Bearer ${ROOT_TOKEN}x`, 401],
  [ROOT_TOKEN, 401],
])('Authorization %j: %d', async (authorization, status) => {
  expect((await world.send('GET', '/accounts/acc_1', { token: null, headers: { authorization } })).status).toBe(status);
});
