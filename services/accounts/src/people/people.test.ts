import { beforeAll, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  accountsCreateAccount,
  accountsCreateMember,
  accountsDeleteMember,
  accountsGetAccount,
  accountsListMembers,
  accountsPutMember,
} from '@gateway/contracts/messages';
import type { MemberPut, MemberView } from '@gateway/contracts/operator';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { FUNDED, startAccountsWorld } from '../../test/accounts-world.js';
import { accepted, AUTHOR, randomEmail, refused } from '../../test/operator-client.js';

const world = duringTests(startAccountsWorld);
const client = onceUsed(() => world.client);

beforeAll(() => world.start());

const create = (account: string, spec: object = {}, command?: string) =>
  world.dashboard.request(accountsCreateMember, {
    account,
    spec: { email: randomEmail(), ...spec },
    author: AUTHOR,
    command,
  });
const put = (account: string, member: MemberView, spec: Partial<MemberPut>) =>
  world.dashboard.request(accountsPutMember, {
    account,
    member: member.id,
    spec: { email: member.email, role: member.role, ...spec },
    author: AUTHOR,
  });
const remove = (account: string, member: string) =>
  world.dashboard.request(accountsDeleteMember, { account, member, author: AUTHOR });
const list = async (account: string) =>
  accepted(await world.dashboard.request(accountsListMembers, { account, cursor: null, limit: 200 })).members;

test('getAccount returns an account and refuses an unknown one', async () => {
  const account = await client.makeAccount();
  expect(await world.dashboard.request(accountsGetAccount, { account: account.id })).toEqual({ account });
  expect(await world.dashboard.request(accountsGetAccount, { account: 'acc_none' })).toEqual(refused('not_found'));
});

test('a repeated command returns its account or member', async () => {
  const command = makeUuidV7(Date.now());
  const make = (name: string) =>
    world.dashboard.request(accountsCreateAccount, {
      spec: { name, email: randomEmail(), type: 'team' },
      author: AUTHOR,
      command,
    });
  const first = accepted(await make('First')).account;
  expect(await make('Second')).toEqual({ account: first });
  const memberCommand = makeUuidV7(Date.now());
  const member = accepted(await create(first.id, {}, memberCommand)).member;
  expect(await create(first.id, {}, memberCommand)).toEqual({ member });
  const other = await client.makeAccount({ type: 'team' });
  expect(await create(other.id, {}, memberCommand)).toEqual(refused('idempotency_conflict'));
});

test('an address has one user in all accounts', async () => {
  const [one, two] = [await client.makeAccount({ type: 'team' }), await client.makeAccount({ type: 'team' })];
  const email = randomEmail();
  const first = accepted(await create(one.id, { email: email.toUpperCase(), monthlySpendCapUsd: '2.5' })).member;
  expect(first).toEqual({
    id: expect.stringMatching(/^mem_[0-9a-f]{32}$/),
    accountId: one.id,
    email,
    emailVerified: false,
    role: 'member',
    monthlySpendCapUsd: '2.50',
    createdAt: expect.any(String),
  });
  const second = accepted(await create(two.id, { email, emailVerified: true, role: 'admin' })).member;
  expect(second).toMatchObject({ email, emailVerified: true, role: 'admin' });
  expect((await list(one.id)).find(({ id }) => id === first.id)).toMatchObject({ emailVerified: true });
  expect(await create(one.id, { email })).toEqual(refused('state_conflict', 'email'));
  expect(await create(one.id, { email: one.email })).toEqual(refused('state_conflict', 'email'));
  const rows = await world.sql.query('SELECT FROM users WHERE email = $1', [email]);
  expect(rows).toHaveLength(1);
});

test('concurrent requests for one address create one member', async () => {
  const account = await client.makeAccount({ type: 'team' });
  const email = randomEmail();
  const answers = await Promise.all(Array.from({ length: 12 }, () => create(account.id, { email })));
  expect(answers.filter((answer) => 'member' in answer)).toHaveLength(1);
  expect(await list(account.id)).toHaveLength(2);
});

test('a personal account, or any account without teams, has only its owner', async () => {
  const personal = await client.makeAccount();
  const before = await world.sql.query('SELECT FROM users');
  expect(await create(personal.id)).toEqual(refused('state_conflict'));
  expect(await create('acc_none')).toEqual(refused('not_found'));
  // A refused request creates no user.
  expect(await world.sql.query('SELECT FROM users')).toHaveLength(before.length);
});

test('replacing a member keeps the verified address and the owner', async () => {
  const account = await client.makeAccount({ type: 'team', emailVerified: false });
  const [owner] = await list(account.id);
  if (!owner) throw new Error('no owner');
  expect(owner).toMatchObject({ role: 'owner', email: account.email, emailVerified: false });
  expect(await put(account.id, owner, { emailVerified: true })).toMatchObject({ member: { emailVerified: true } });
  expect(await put(account.id, owner, { emailVerified: false })).toMatchObject({ member: { emailVerified: true } });
  expect(await put(account.id, owner, { role: 'admin' })).toEqual(refused('state_conflict', 'role'));
  const member = await client.makeMember(account.id);
  expect(await put(account.id, member, { role: 'owner' })).toEqual(refused('state_conflict', 'role'));
  expect(await put(account.id, member, { email: randomEmail() })).toEqual(refused('state_conflict', 'email'));
  expect(await put(account.id, member, { email: member.email.toUpperCase(), role: 'admin' })).toMatchObject({
    member: { role: 'admin' },
  });
  const elsewhere = await client.makeAccount({ type: 'team' });
  expect(await put(elsewhere.id, member, {})).toEqual(refused('not_found'));
});

test('a replaced member is logged with before and after, an unchanged one is not', async () => {
  const account = await client.makeAccount({ type: 'team' });
  const member = await client.makeMember(account.id);
  await put(account.id, member, { monthlySpendCapUsd: '4' });
  await put(account.id, member, { monthlySpendCapUsd: '4' });
  expect(await client.audit({ object: member.id })).toMatchObject([
    { action: 'put_member', before: member, after: { ...member, monthlySpendCapUsd: '4.00' }, ...AUTHOR },
    { action: 'create_member', before: null, after: member },
  ]);
});

test('a member without active keys can be deleted and added again', async () => {
  const account = await client.makeAccount({ type: 'team' });
  const member = await client.makeMember(account.id);
  const key = await client.makeKey(account.id, { memberId: member.id });
  expect(await remove(account.id, member.id)).toEqual(refused('in_use'));
  await client.setState(key.id, 'suspend');
  expect(await remove(account.id, member.id)).toEqual(refused('in_use'));
  await client.setState(key.id, 'revoke');
  expect(await remove(account.id, member.id)).toEqual({ deleted: true });
  expect((await list(account.id)).map(({ id }) => id)).toEqual([account.ownerMemberId]);
  expect(await remove(account.id, member.id)).toEqual({ deleted: true });
  expect(await put(account.id, member, {})).toEqual(refused('not_found'));
  expect(await client.putKey(account.id, { memberId: member.id })).toEqual(refused('not_found', 'memberId'));
  const back = await client.makeMember(account.id, { email: member.email });
  expect(back.id).not.toBe(member.id);
  expect(await client.audit({ object: member.id }, 1)).toMatchObject([
    { action: 'delete_member', before: { id: member.id }, after: null },
  ]);
});

test('the owner and an unknown member cannot be deleted', async () => {
  const account = await client.makeAccount({ type: 'team' });
  expect(await remove(account.id, account.ownerMemberId)).toEqual(refused('state_conflict'));
  expect(await remove(account.id, 'mem_none')).toEqual(refused('not_found'));
  const other = await client.makeAccount({ type: 'team' });
  expect(await remove(other.id, account.ownerMemberId)).toEqual(refused('not_found'));
});

test("a key requested during its member's deletion belongs to a current member", async () => {
  const account = await client.makeAccount({ type: 'team' });
  world.fund({ ...FUNDED, activeKeysMax: 100 });
  for (let round = 0; round < 10; round += 1) {
    const member = await client.makeMember(account.id);
    const [made, left] = await Promise.all([
      client.putKey(account.id, { memberId: member.id }),
      remove(account.id, member.id),
    ]);
    if ('key' in made) expect(left).toEqual(refused('in_use'));
    else expect([made, left]).toEqual([refused('not_found', 'memberId'), { deleted: true }]);
  }
});
