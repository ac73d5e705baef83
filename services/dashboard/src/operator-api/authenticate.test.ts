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

const authorOf = (actor: string) => expect.objectContaining({ actor });
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
  "the deployment's token, current or previous, is root without a query",
  async (token) => {
    expect((await world.send('POST', '/accounts/acc_1/suspend', { token })).status).toBe(200);
    expect(world.asked).toEqual([
      {
        name: 'accounts.set-account-state',
        body: { account: 'acc_1', verb: 'suspend', author: authorOf('operator:root') },
      },
    ]);
  },
);

test('a named operator is looked up for each request by digests under both peppers', async () => {
  world.scriptByName('accounts.find-operator', () => ({ operator: OPERATOR }));
  expect((await world.send('POST', '/accounts/acc_1/suspend', { token: TOKEN })).status).toBe(200);
  const digests = [digestOfSecret(TOKEN, PEPPER), digestOfSecret(TOKEN, OLD_PEPPER)];
  expect(world.asked[0]).toEqual({ name: 'accounts.find-operator', body: { digests } });
  expect(world.asked[1]?.body).toMatchObject({ author: authorOf('operator:grace') });
  world.scriptByName('accounts.find-operator', () => ({ operator: null }));
  const refused = await world.send('POST', '/accounts/acc_1/suspend', { token: TOKEN });
  expect([refused.status, errorOf(refused).code]).toEqual([401, 'invalid_operator_token']);
});

test('while accounts is away root still works and a named operator gets 503', async () => {
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
])('Authorization %j gets %d', async (authorization, status) => {
  expect((await world.send('GET', '/accounts/acc_1', { token: null, headers: { authorization } })).status).toBe(status);
});

test('wrong tokens are bounded before a query, and a token that was valid still works', async () => {
  const guess = (n: number): string => secretFrom('mgo_', n.toString(16).padStart(40, '0'));
  // The clock does not advance, because more attempts are permitted as time passes.
  const now = Date.now();
  const own = await startOperatorWorld(undefined, { options: { tokenAttempts: undefined }, nowMs: () => now });
  try {
    own.scriptByName('accounts.get-account', () => ({ account: ACCOUNT }));
    own.scriptByName('accounts.find-operator', (body) => {
      const { digests } = body as { digests: string[] };
      return { operator: digests[0] === digestOfSecret(TOKEN, PEPPER) ? OPERATOR : null };
    });
    const get = (token: string) => own.send('GET', '/accounts/acc_1', { token });
    expect((await get(TOKEN)).status).toBe(200);
    const refused = [];
    for (let n = 1; n <= 100; n += 1) refused.push(await get(guess(n)));
    const asked = own.asked.filter(({ name }) => name === 'accounts.find-operator').length;
    expect(asked).toBeLessThan(30);
    const last = refused.at(-1);
    expect(last && [last.status, errorOf(last).code]).toEqual([429, 'too_many_attempts']);
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0);
    // The deployment's own token is bounded too, and a token that is known to be valid still works.
    expect((await get(ROOT_TOKEN)).status).toBe(429);
    expect((await get(TOKEN)).status).toBe(200);
  } finally {
    await own.stop();
  }
});
