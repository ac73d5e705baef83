import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { digestOfSecret, hasKeyForm, maskSecret, secretFrom } from '@gateway/contracts/ids';
import { openSealed } from '@gateway/service-kit';
import {
  ACCOUNT,
  KEY,
  MODEL,
  OPERATOR,
  PLAN,
  PLAN_PUT,
  PROVIDER,
  SOURCE,
  SOURCE_PUT,
  TRANSACTION,
} from '../../test/examples.js';
import { makeDocumentCheck } from '../../test/document-check.js';
import { errorOf, PEPPER, SOURCE_KEYS, startOperatorWorld, type OperatorWorld } from '../../test/operator-world.js';
import type { OperatorRoute } from './route.js';
import { ROUTE_TABLE } from './routes.js';

let world: OperatorWorld;
beforeAll(async () => {
  world = await startOperatorWorld();
});
afterAll(() => world.stop());
beforeEach(() => {
  world.reset();
  world.scriptByName('accounts.get-account', () => ({ account: ACCOUNT }));
});

test.each([
  ['POST', '/accounts/acc_1/keys', { name: 'k' }, 'accounts.create-key', 201],
  ['POST', '/keys/key_1/rotate', undefined, 'accounts.rotate-key', 200],
])(
  '%s %s shows a new secret once and sends only its digest and masked form',
  async (method, path, body, name, status) => {
    world.scriptByName(name, () => ({ key: KEY, repeated: false, inForce: true }));
    const answer = await world.send(method, path, { body });
    const secret = answer.body['secret'] as string;
    expect([answer.status, hasKeyForm(secret, ['new_live_'])]).toEqual([status, true]);
    expect(world.asked[0]?.body).toMatchObject({
      digest: digestOfSecret(secret, PEPPER),
      maskedSecret: maskSecret(secret),
    });
    expect(JSON.stringify(world.asked)).not.toContain(secret);
    world.scriptByName(name, () => ({ key: KEY, repeated: true, inForce: true }));
    expect((await world.send(method, path, { body })).body['secret']).toBeNull();
  },
);

test('a rotation that is not in force yet gets 503 with the new secret', async () => {
  const rotate = () => world.send('POST', '/keys/key_1/rotate');
  world.scriptByName('accounts.rotate-key', () => ({ key: KEY, repeated: false, inForce: false }));
  const answer = await rotate();
  const { secret, ...key } = answer.body['key'] as { secret: string };
  expect([answer.status, errorOf(answer).code, key]).toEqual([503, 'not_in_force', KEY]);
  expect(world.asked[0]?.body).toMatchObject({ digest: digestOfSecret(secret, PEPPER) });
  const check = makeDocumentCheck((await world.send('GET', '/openapi.json', { token: null })).body);
  check(ROUTE_TABLE.find(({ id }) => id === 'rotateKey') as OperatorRoute, answer);
  expect(JSON.stringify(world.log.lines)).not.toContain(secret);
  world.scriptByName('accounts.rotate-key', () => ({ key: KEY, repeated: true, inForce: false }));
  const again = await rotate();
  expect([again.status, again.body['key']]).toEqual([503, { ...KEY, secret: null }]);
});

test('createOperator shows the token once and sends only its digest', async () => {
  world.scriptByName('accounts.create-operator', () => ({ operator: OPERATOR, repeated: false }));
  const answer = await world.send('POST', '/operators', { body: { name: 'grace', role: 'operator' } });
  const token = answer.body['token'] as string;
  expect(token).toMatch(/^mgo_[0-9a-f]{48}$/);
  expect(world.asked[0]?.body).toMatchObject({ digest: digestOfSecret(token, PEPPER) });
  expect(JSON.stringify(world.asked)).not.toContain(token);
  const root = await world.send('POST', '/operators', { body: { name: 'root', role: 'admin' } });
  expect([root.status, errorOf(root).param]).toEqual([400, 'name']);
});

test.each([
  ['created', 201],
  ['changed', 200],
  ['unchanged', 200],
])('a PUT that %s responds with %d', async (change, status) => {
  const outcome = { change, revision: 1, inForce: false };
  world.scriptByName('catalog.put-provider', () => ({ ...outcome, provider: PROVIDER }));
  world.scriptByName('catalog.put-model', () => ({ ...outcome, model: MODEL }));
  world.scriptByName('catalog.put-source', () => ({ ...outcome, source: SOURCE }));
  world.scriptByName('billing.put-plan', () => ({ change, plan: PLAN }));
  const answers = await Promise.all([
    world.send('PUT', '/providers/prov', { body: { name: 'P', format: 'openai' } }),
    world.send('PUT', '/models/pub/model', { body: { displayName: 'M', kind: 'chat' } }),
    world.send('PUT', '/sources/src', { body: SOURCE_PUT }),
    world.send('PUT', '/plans/pro', { body: PLAN_PUT }),
  ]);
  expect(answers.map((answer) => answer.status)).toEqual([status, status, status, status]);
  expect(answers.map((answer) => answer.body['inForce'])).toEqual([false, false, false, undefined]);
});

const VIEWS: [string, string, string, object][] = [
  ['provider', '/providers/prov', 'catalog.put-provider', PROVIDER],
  ['model', '/models/pub/model', 'catalog.put-model', MODEL],
  ['source', '/sources/src', 'catalog.put-source', SOURCE],
  ['plan', '/plans/pro', 'billing.put-plan', PLAN],
];
const ONLY_SHOWN: Readonly<Record<string, readonly string[]>> = {
  provider: ['id', 'hasCredential'],
  model: ['id', 'priceVersion', 'upcomingPrices'],
  source: ['id', 'hasCredential', 'credentialOf', 'costVersion', 'upcomingCosts'],
  plan: ['id', 'version', 'createdAt'],
};
test.each(VIEWS)('a PUT accepts the view of a %s and drops read-only fields', async (kind, path, name, view) => {
  const spec = Object.fromEntries(Object.entries(view).filter(([field]) => !ONLY_SHOWN[kind]?.includes(field)));
  world.scriptByName(name, () => ({ change: 'unchanged', revision: 1, inForce: true, [kind]: view }));
  expect((await world.send('PUT', path, { body: view })).status).toBe(200);
  expect(world.asked.map(({ body }) => body['spec'])).toEqual([spec]);
  for (const strange of [{ versions: 1 }, { Id: 'x' }, { hasCredentials: true }]) {
    const answer = await world.send('PUT', path, { body: { ...view, ...strange } });
    expect([answer.status, errorOf(answer).param]).toEqual([400, Object.keys(strange)[0]]);
  }
});

test('apply accepts views like specs', async () => {
  world.scriptByName('catalog.apply', () => ({ changes: [], unchanged: 3, revision: 1, inForce: true }));
  world.scriptByName('billing.apply-plans', () => ({ changes: [], unchanged: 1 }));
  const objects = VIEWS.map(([kind, , , view]) => ({ kind, id: (view as { id: string }).id, spec: view }));
  const answer = await world.send('POST', '/apply', { body: { objects } });
  expect(answer.body).toMatchObject({ changes: [], unchanged: 4 });
  const sent = world.asked.flatMap(({ body }) => (body['objects'] ?? body['plans']) as { spec: object }[]);
  expect(sent).toHaveLength(8);
  for (const { spec } of sent) {
    expect(Object.keys(spec).filter((field) => Object.values(ONLY_SHOWN).flat().includes(field))).toEqual([]);
  }
});

test.each(['/providers/prov', '/models/pub/model', '/sources/src'])(
  'a deletion of %s that is not in force in time gets 503',
  async (path) => {
    world.scriptByName('catalog.delete', () => ({ revision: 1, inForce: false }));
    const answer = await world.send('DELETE', path);
    expect([answer.status, errorOf(answer).code]).toEqual([503, 'not_in_force']);
  },
);

test("a source's credential is sealed for it; omitted keeps it and null removes it", async () => {
  world.scriptByName('catalog.put-source', () => ({ change: 'changed', revision: 1, inForce: true, source: SOURCE }));
  for (const credential of ['sk-1', undefined, null])
    await world.send('PUT', '/sources/src', { body: { ...SOURCE_PUT, credential } });
  const [sealed, kept, removed] = world.asked.map(({ body }) => body);
  expect(openSealed(sealed?.['sealedCredential'] as string, 'src', SOURCE_KEYS)).toBe('sk-1');
  expect(kept).not.toHaveProperty('sealedCredential');
  expect(removed).toHaveProperty('sealedCredential', null);
  for (const one of [sealed, kept, removed]) expect(one?.['spec']).not.toHaveProperty('credential');
});

test("a provider's credential is sealed for the provider's place", async () => {
  world.scriptByName('catalog.put-provider', () => ({
    change: 'changed',
    revision: 1,
    inForce: true,
    provider: { ...PROVIDER, hasCredential: true },
  }));
  const body = { name: 'Provider', format: 'openai', auth: { type: 'header', header: 'x-key' } };
  for (const credential of ['sk-1', undefined, null]) {
    const answer = await world.send('PUT', '/providers/prov', { body: { ...body, credential } });
    expect([answer.status, answer.body['hasCredential']]).toEqual([200, true]);
  }
  const [sealed, kept, removed] = world.asked.map((asked) => asked.body);
  expect(openSealed(sealed?.['sealedCredential'] as string, 'provider:prov', SOURCE_KEYS)).toBe('sk-1');
  expect(kept).not.toHaveProperty('sealedCredential');
  expect(removed).toHaveProperty('sealedCredential', null);
  for (const one of [sealed, kept, removed]) expect(one?.['spec']).toEqual(body);
});

test("putSource runs a dry run if a source switches to its provider's credential", async () => {
  world.scriptByName('accounts.find-operator', () => ({ operator: { ...OPERATOR, role: 'operator' } }));
  const seen = { baseUrl: 'https://api.example.com', providerId: 'prov' };
  const change = {
    kind: 'source',
    id: 'src',
    change: 'changed',
    before: { ...seen, hasCredential: true, credentialOf: 'source' },
    after: { ...seen, hasCredential: false, credentialOf: 'provider' },
    credentialChanged: true,
  };
  world.scriptByName('catalog.apply', () => ({ changes: [change], unchanged: 0, revision: 1, inForce: true }));
  const token = secretFrom('mgo_', 'a'.repeat(40));
  const answer = await world.send('PUT', '/sources/src', { token, body: { ...SOURCE_PUT, credential: null } });
  expect([answer.status, errorOf(answer).code]).toEqual([403, 'operator_forbidden']);
  expect(world.asked.map(({ name }) => name)).toEqual(['accounts.find-operator', 'catalog.apply']);
  expect(world.asked[1]?.body['objects']).toMatchObject([{ kind: 'source', sealedCredential: null }]);
});

test.each(['sk-1\n', 'schlüssel', '\u{1f511}'.repeat(2_000), 'x'.repeat(4_097)])(
  'a credential that cannot be a header gets 400',
  async (credential) => {
    world.env['BAD_CREDENTIAL'] = credential;
    const given = await world.send('PUT', '/sources/src', { body: { ...SOURCE_PUT, credential } });
    expect([given.status, errorOf(given).param]).toEqual([400, 'credential']);
    const named = await world.send('PUT', '/sources/src', {
      body: { ...SOURCE_PUT, credential: { fromEnv: 'BAD_CREDENTIAL' } },
    });
    expect([named.status, errorOf(named).param]).toEqual([400, 'credential.fromEnv']);
    expect(world.asked).toEqual([]);
  },
);

const UNKNOWN: [string, string, unknown][] = [
  ['GET', '/accounts/acc_9/wallet', undefined],
  ['POST', '/accounts/acc_9/wallet/entries', { amountUsd: '1', kind: 'credit', reason: 'r', reference: 'x' }],
  ['GET', '/accounts/acc_9/limits', undefined],
  ['PUT', '/accounts/acc_9/limits', {}],
  ['GET', '/accounts/acc_9/subscription', undefined],
  [
    'PUT',
    '/accounts/acc_9/subscription',
    { planId: 'p', periodStart: '2026-11-01T00:00:00Z', periodEnd: '2026-12-01T00:00:00Z' },
  ],
  ['DELETE', '/accounts/acc_9/subscription', undefined],
  ['GET', '/accounts/acc_9/ledger', undefined],
  ['GET', '/accounts/acc_9/statement?month=2026-11', undefined],
  ['GET', '/accounts/acc_9/keys', undefined],
  ['GET', '/accounts/acc_9/members', undefined],
];
test.each(UNKNOWN)('%s %s of an unknown account gets 404 and changes nothing', async (method, path, body) => {
  world.refuseByName('accounts.get-account', 'not_found');
  world.scriptByName('billing.wallet', () => ({ balanceUsd: null }));
  world.scriptByName('admission.held', () => ({ walletNanoUsd: 0, slots: 0 }));
  const answer = await world.send(method, path, { body });
  expect([answer.status, errorOf(answer).code]).toEqual([404, 'not_found']);
  if (!path.endsWith('/wallet')) expect(world.asked.map(({ name }) => name)).toEqual(['accounts.get-account']);
});

test('getWallet has a null balance without entries and gets 503 without admission', async () => {
  world.scriptByName('billing.wallet', () => ({ balanceUsd: null }));
  world.scriptByName('admission.held', () => ({ walletNanoUsd: 0, slots: 0 }));
  expect((await world.send('GET', '/accounts/acc_1/wallet')).body).toEqual({ balanceUsd: null, heldUsd: '0.00' });
  world.away('admission');
  expect((await world.send('GET', '/accounts/acc_1/wallet')).status).toBe(503);
});

test('addWalletEntry sends the amount to billing as text', async () => {
  world.scriptByName('billing.add-wallet-entry', () => ({ transaction: TRANSACTION, balanceUsd: '1', repeated: true }));
  const spec = { amountUsd: '12.500000001', kind: 'credit', reason: 'paid', reference: 'inv-1' };
  expect((await world.send('POST', '/accounts/acc_1/wallet/entries', { body: spec })).status).toBe(201);
  expect(world.asked.at(-1)?.body).toEqual({
    account: 'acc_1',
    spec,
    author: expect.objectContaining({ actor: 'operator:root' }),
  });
});

test('times become milliseconds on the bus', async () => {
  world.scriptByName('billing.usage-records', () => ({ records: [], nextCursor: null }));
  await world.send('GET', '/usage-records?from=2026-11-01T00:00:00Z&to=2026-11-01T00:00:00.5Z');
  const from = Date.UTC(2026, 10, 1);
  expect(world.asked[0]?.body).toEqual({ account: null, from, to: from + 500, cursor: null, limit: 50 });
});
