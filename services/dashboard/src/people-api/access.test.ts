import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { KEY } from '../../test/examples.js';
import { errorOf, type Answer } from '../../test/operator-world.js';
import { PAGE_EXAMPLES, type PageExample } from '../../test/page-examples.js';
import { PEOPLE, startPagesWorld, type PagesWorld } from '../../test/pages-world.js';
import { PAGE_TABLE } from './routes.js';

const ROLES = ['owner', 'admin', 'member'] as const;
type Role = (typeof ROLES)[number];
/** `all`: objects of all members; `own`: only objects of the own member. */
type Reach = 'all' | 'own' | 'none';

const MANAGERS = { owner: 'all', admin: 'all', member: 'none' } as const;
const OWN_KEYS = { owner: 'all', admin: 'all', member: 'own' } as const;

/** The changes in an account, by role. */
const CHANGES: Readonly<Record<string, Readonly<Record<Role, Reach>>>> = {
  createKey: OWN_KEYS,
  rotateKey: OWN_KEYS,
  revokeKey: OWN_KEYS,
  playground: { owner: 'own', admin: 'own', member: 'own' },
  putWebhook: MANAGERS,
  deleteWebhook: MANAGERS,
  rotateWebhookSecret: MANAGERS,
  inviteMember: MANAGERS,
  putMember: MANAGERS,
  deleteMember: MANAGERS,
};
/** The changes without an account. They concern the person whose session or email token is sent. */
const PERSONAL: Readonly<Record<string, 'anyone' | 'user' | 'operator'>> = {
  signUp: 'anyone',
  verifyEmail: 'anyone',
  resendVerification: 'anyone',
  forgotPassword: 'anyone',
  resetPassword: 'anyone',
  acceptInvitation: 'anyone',
  signIn: 'anyone',
  operatorSignIn: 'anyone',
  changePassword: 'user',
  signOut: 'user',
  signOutEverywhere: 'user',
  operatorSignOut: 'operator',
};
/** The fields that a member's session can send. Other fields are refused for each role. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  createKey: ['name', 'memberId', 'monthlySpendCapUsd', 'allowedModels'],
  playground: ['model', 'messages', 'max_tokens', 'temperature'],
  putWebhook: ['url', 'enabled'],
  inviteMember: ['email', 'role', 'monthlySpendCapUsd'],
  putMember: ['role', 'monthlySpendCapUsd'],
};
/** Fields that no role of a member can set. */
const REFUSED: readonly (readonly [route: string, field: string, value: unknown])[] = [
  ['createKey', 'expiresAt', '2027-01-01T00:00:00.000Z'],
  ['createKey', 'accountId', 'acc_9'],
  ['inviteMember', 'emailVerified', true],
  ['inviteMember', 'role', 'owner'],
  ['putMember', 'emailVerified', true],
  ['putMember', 'email', 'eve@example.com'],
  ['putWebhook', 'secret', 'known'],
];

const OTHER = 'mem_7';
const changing = PAGE_TABLE.filter(({ method }) => method !== 'GET');
let world: PagesWorld;
beforeAll(async () => {
  world = await startPagesWorld();
});
afterAll(() => world.stop());
beforeEach(() => {
  world.reset();
  world.edge.answer((response) => response.end('data: [DONE]\n\n'));
});

const exampleOf = (id: string): PageExample => {
  const example = PAGE_EXAMPLES[id];
  if (example === undefined) throw new Error(`no example of ${id}`);
  return example;
};
const memberOf = (role: Role): string => PEOPLE[role].session.accounts[0]?.memberId ?? '';
const send = (id: string, role: Role, more: object): Promise<Answer> => {
  const { path, body } = exampleOf(id);
  const sent = body === undefined && Object.keys(more).length === 0 ? {} : { body: { ...(body as object), ...more } };
  const method = PAGE_TABLE.find((route) => route.id === id)?.method ?? '';
  return world.send(method, `/api${path.replace('{account}', 'acc_1')}`, { who: role, ...sent });
};
/** Sends the example of a route for an object of this member. */
const about = (id: string, role: Role, memberId: string): Promise<Answer> => {
  world.script(exampleOf(id).answers);
  world.script({ 'accounts.get-key': { key: { ...KEY, memberId } } });
  return send(id, role, id === 'createKey' ? { memberId } : {});
};
const commands = () => world.asked.filter(({ body }) => 'author' in body);

test('every change has a line in the tables', () => {
  const ids = changing.map(({ id }) => id).sort();
  expect([...Object.keys(CHANGES), ...Object.keys(PERSONAL)].sort()).toEqual(ids);
  const personal = changing.filter(({ id }) => id in PERSONAL);
  expect(Object.fromEntries(personal.map(({ id, access }) => [id, access]))).toEqual(PERSONAL);
  for (const { id, path } of changing) expect([id, path.includes('{account}')]).toEqual([id, id in CHANGES]);
});

test('every field of a change has a line in the table', () => {
  const found = changing.flatMap(({ id, body }) =>
    body === null || !(id in CHANGES) ? [] : [[id, Object.keys((body as unknown as { shape: object }).shape).sort()]],
  );
  const listed = Object.entries(FIELDS).map(([id, fields]) => [id, [...fields].sort()]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(listed));
});

const rows = Object.entries(CHANGES).flatMap(([id, reaches]) =>
  ROLES.map((role) => [id, role, reaches[role]] as const),
);

test.each(rows.filter(([id]) => id !== 'playground'))('%s as %s reaches %s', async (id, role, reach) => {
  for (const memberId of [memberOf(role), OTHER]) {
    world.asked.length = 0;
    const answer = await about(id, role, memberId);
    const allowed = reach === 'all' || (reach === 'own' && memberId !== OTHER);
    if (allowed) {
      expect([memberId, answer.status]).toEqual([memberId, exampleOf(id).status]);
      const actor = `user:${PEOPLE[role].session.user.id}`;
      expect(commands()).toMatchObject([{ body: { author: { actor } } }]);
    } else {
      expect([memberId, answer.status, errorOf(answer).code]).toEqual([memberId, 403, 'forbidden']);
      expect(commands()).toEqual([]);
    }
  }
});

test.each(ROLES)('the playground uses the own key of the role %s', async (role) => {
  expect((await about('playground', role, OTHER)).status).toBe(200);
  const { secret } = world.secrets.playgroundKey({ account: 'acc_1', member: memberOf(role) });
  expect(world.edge.asked).toMatchObject([{ authorization: `Bearer ${secret}` }]);
});

test.each(REFUSED.flatMap((row) => ROLES.map((role) => [...row, role] as const)))(
  '%s with %s %j is refused for the role of the session',
  async (id, field, value, role) => {
    world.script(exampleOf(id).answers);
    const answer = await send(id, role, { [field]: value });
    const isReached = CHANGES[id]?.[role] !== 'none';
    expect([role, errorOf(answer).code]).toEqual([role, isReached ? 'invalid_request' : 'forbidden']);
    if (isReached) expect(errorOf(answer).param).toBe(field);
    expect(commands()).toEqual([]);
  },
);

test.each(['owner', 'admin'] as const)('the role %s cannot verify the address of a member', async (role) => {
  await about('putMember', role, OTHER);
  await about('inviteMember', role, OTHER);
  const [put, invited] = commands();
  expect(put?.body).toMatchObject({ spec: { email: 'ada@example.com', emailVerified: false } });
  expect(invited?.body['spec']).not.toHaveProperty('emailVerified');
});
