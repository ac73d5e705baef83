import { secretFrom } from '@gateway/contracts/ids';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ACCOUNT, MEMBER, OPERATOR, SOURCE_PUT } from '../../test/examples.js';
import { errorOf, startOperatorWorld, type OperatorWorld } from '../../test/operator-world.js';
import { ROLES_BY_ACCESS } from './access.js';
import { ROUTE_TABLE } from './routes.js';

/** Roles except `admin`, which has every permission. */
type Lesser = 'operator' | 'finance' | 'readonly';

/**
 * Each field that a role below `admin` can send, with the roles in addition to `admin` that may set
 * it. The test fails for a field without a line. `compared`: accounts compares the field with the
 * stored member (tested in rules.test.ts of its people).
 */
const FIELDS: Readonly<Record<string, Readonly<Record<string, readonly Lesser[] | 'compared'>>>> = {
  createAccount: {
    name: ['operator'],
    email: ['operator'],
    emailVerified: [],
    type: ['operator'],
    externalId: ['operator'],
  },
  putAlias: { id: ['operator'], modelId: ['operator'] },
  putPriceProposal: { lists: ['operator'], changes: ['operator'], reported: ['operator'], scheduledFor: ['operator'] },
  putMember: { email: ['operator'], emailVerified: 'compared', role: 'compared', monthlySpendCapUsd: 'compared' },
  putWebhook: { url: ['operator'], enabled: ['operator'] },
};
/** Routes whose changes are checked in a dry run (tested in judge-changes.test.ts). */
const JUDGED = ['apply', 'putModel', 'putSource', 'putProvider'];
/** The routes that change something, by role. */
const CHANGES: Readonly<Record<Lesser, readonly string[]>> = {
  operator: [
    ...['releaseSlot', 'putProvider', 'deleteProvider', 'putModel', 'deleteModel', 'putSource', 'deleteSource'],
    ...['testSource', 'apply', 'createAccount', 'suspendAccount', 'reinstateAccount', 'closeAccount', 'putMember'],
    ...['deleteMember', 'revokeKey', 'suspendKey', 'reinstateKey', 'putWebhook', 'deleteWebhook'],
    ...['rotateWebhookSecret', 'putAlias', 'deleteAlias', 'putPriceProposal'],
  ],
  finance: [
    ...['putModel', 'putPlan', 'deletePlan', 'apply', 'putLimits', 'putSubscription', 'deleteSubscription'],
    'addWalletEntry',
  ],
  readonly: [],
};

test.each(['operator', 'finance', 'readonly'] as const)('the role %s reaches its changes and no others', (role) => {
  const reached = ROUTE_TABLE.filter(
    ({ method, access }) => method !== 'GET' && ROLES_BY_ACCESS[access].includes(role),
  );
  expect(reached.map(({ id }) => id).sort()).toEqual([...CHANGES[role]].sort());
});

test('every field that a role below admin can send has a line', () => {
  const found = ROUTE_TABLE.flatMap(({ id, access, body }) => {
    const isOpen = ['write', 'catalog'].includes(access) && !JUDGED.includes(id);
    return body === null || !isOpen ? [] : [[id, Object.keys((body as unknown as { shape: object }).shape).sort()]];
  });
  const listed = Object.entries(FIELDS).map(([id, fields]) => [id, Object.keys(fields).sort()]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(listed));
});

let world: OperatorWorld;
beforeAll(async () => {
  world = await startOperatorWorld();
});
afterAll(() => world.stop());
beforeEach(() => {
  world.reset();
  world.env['PROVIDER_KEY'] = 'sk-secret';
  world.scriptByName('accounts.create-account', () => ({ account: ACCOUNT }));
  world.scriptByName('accounts.put-member', () => ({ member: MEMBER }));
});

const sendAs = (role: string, method: string, path: string, body: unknown) => {
  world.scriptByName('accounts.find-operator', () => ({ operator: { ...OPERATOR, role } }));
  return world.send(method, path, { body, token: secretFrom('mgo_', Buffer.from(role.padEnd(20)).toString('hex')) });
};
const changes = () => world.asked.filter(({ name }) => name !== 'accounts.find-operator');

const ADA = { name: 'Ada', email: 'ada@example.com' };
const FROM_ENV = { fromEnv: 'PROVIDER_KEY' };
test.each([
  ['a verified owner', 'POST', '/accounts', { ...ADA, emailVerified: true }],
  ['a member', 'POST', '/accounts/acc_1/members', { email: ADA.email }],
  ['an admin', 'POST', '/accounts/acc_1/members', { email: ADA.email, emailVerified: true, role: 'admin' }],
  ['a variable of a source', 'PUT', '/sources/src', { ...SOURCE_PUT, credential: FROM_ENV }],
  ['a variable of a provider', 'PUT', '/providers/p', { name: 'P', format: 'openai', credential: FROM_ENV }],
  [
    'a variable of a document',
    'POST',
    '/apply',
    { objects: [{ kind: 'source', id: 's', spec: { ...SOURCE_PUT, credential: FROM_ENV } }] },
  ],
])('the role operator is refused %s', async (_what, method, path, body) => {
  const answer = await sendAs('operator', method, path, body);
  expect([answer.status, errorOf(answer).code]).toEqual([403, 'operator_forbidden']);
  expect(changes()).toEqual([]);
});

test.each([
  ['operator', ['keys', 'money']],
  ['admin', []],
])('putMember of the role %s names the permissions that it lacks', async (role, missingPermissions) => {
  const put = { email: MEMBER.email, role: 'member' };
  expect((await sendAs(role, 'PUT', '/accounts/acc_1/members/mem_1', put)).status).toBe(200);
  expect(changes()).toEqual([expect.objectContaining({ body: expect.objectContaining({ missingPermissions }) })]);
});

test('the role operator makes an account whose owner is not verified', async () => {
  expect((await sendAs('operator', 'POST', '/accounts', ADA)).status).toBe(201);
});
