import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import {
  accountsCloseAccount,
  accountsCreateAccount,
  accountsEnsurePlaygroundKey,
  accountsGetAccount,
  accountsListKeys,
  accountsListMembers,
  accountsLoad,
  accountsPutMember,
  accountsSetAccountState,
} from '@gateway/contracts/messages';
import { until } from '@gateway/testkit';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { FUNDED, startAccountsWorld } from '../../test/accounts-world.js';
import { accepted, AUTHOR, randomEmail, refused, secretParts } from '../../test/operator-client.js';
import { expectVersions } from '../../test/versions.js';
import { KEYS_PER_MESSAGE_MAX } from './close-account.js';

const world = duringTests(startAccountsWorld);
const client = onceUsed(() => world.client);

beforeAll(() => world.start());

beforeEach(() => {
  world.answerClosing({ closed: true });
  world.fund(FUNDED);
});

const close = (account: string) => world.dashboard.request(accountsCloseAccount, { account, author: AUTHOR });
const members = async (account: string) =>
  accepted(await world.dashboard.request(accountsListMembers, { account, cursor: null, limit: 200 })).members;
const keys = async (account: string) =>
  accepted(await world.dashboard.request(accountsListKeys, { account, cursor: null, limit: 200 })).keys;

test('a closed account is final: keys are revoked and admission refuses it', async () => {
  const account = await client.makeAccount({ type: 'team' });
  const used = await client.makeKey(account.id);
  const suspended = await client.makeKey(account.id);
  await client.setState(suspended.id, 'suspend');
  const ensure = { account: account.id, member: account.ownerMemberId, digest: secretParts().digest, author: AUTHOR };
  const { key: playground } = accepted(await world.dashboard.request(accountsEnsurePlaygroundKey, ensure));
  // The version was written by a clock that was ahead.
  const ahead = Date.now() + 60_000;
  await world.sql.execute('UPDATE api_keys SET version = $2 WHERE id = $1', [suspended.id, ahead]);
  const askedMs = Date.now();
  const answer = accepted(await close(account.id)).account;
  expect(answer).toMatchObject({ id: account.id, state: 'closed', name: 'erased', emailVerified: false });
  expect(answer.email).toMatch(/^erased:usr_[0-9a-f]{32}$/);
  expect(world.admission.account(account.id)).toMatchObject({ state: 'suspended' });
  expectVersions(world.admission.versions(account.id), [askedMs]);
  expectVersions(world.admission.versions(used.id), [askedMs]);
  expectVersions(world.admission.versions(playground).slice(1), [askedMs]);
  expect(world.admission.key(suspended.id)).toMatchObject({ version: ahead + 1 });
  for (const id of [used.id, suspended.id, playground])
    expect(world.admission.key(id)).toMatchObject({ state: 'revoked' });
  expect((await keys(account.id)).map(({ state, name }) => [state, name])).toEqual([
    ['revoked', 'erased'],
    ['revoked', 'erased'],
  ]);

  const [owner] = await members(account.id);
  const after = await Promise.all([
    world.dashboard.request(accountsSetAccountState, { account: account.id, verb: 'reinstate', author: AUTHOR }),
    world.dashboard.request(accountsSetAccountState, { account: account.id, verb: 'suspend', author: AUTHOR }),
    client.putKey(account.id),
    world.dashboard.request(accountsEnsurePlaygroundKey, {
      account: account.id,
      member: account.ownerMemberId,
      digest: secretParts().digest,
      author: AUTHOR,
    }),
    world.dashboard.request(accountsPutMember, {
      account: account.id,
      member: owner?.id ?? '',
      spec: { email: randomEmail(), role: 'owner', emailVerified: true },
      author: AUTHOR,
    }),
  ]);
  expect(after).toEqual(after.map(() => refused('state_conflict')));
  expect(await client.rotate(used.id)).toEqual(refused('key_not_active'));
  expect(await client.setState(used.id, 'reinstate')).toEqual(refused('key_not_active'));
});

test('closing erases names and addresses and keeps the entries of the audit log', async () => {
  const email = randomEmail();
  const spec = { name: 'Ada Lovelace', email, emailVerified: true, type: 'team' as const };
  const account = accepted(await world.dashboard.request(accountsCreateAccount, { spec, author: AUTHOR })).account;
  const member = await client.makeMember(account.id);
  await client.makeKey(account.id, { name: "Ada's laptop" });
  const before = await client.audit({ account: account.id });
  await close(account.id);

  const rows = await Promise.all(
    ['users', 'accounts', 'members', 'api_keys', 'audit_log', 'outbox', 'key_rotations'].map((table) =>
      world.sql.query(`SELECT to_jsonb(one)::text AS row FROM ${table} one`),
    ),
  );
  const stored = JSON.stringify(rows);
  for (const text of [email, member.email, 'Lovelace', 'laptop']) expect(stored).not.toContain(text);

  const [closing, ...kept] = await client.audit({ account: account.id });
  expect(closing).toMatchObject({
    action: 'close_account',
    ...AUTHOR,
    before: { state: 'active' },
    after: { state: 'closed', keysRevoked: 1, auditEntriesErased: 3 },
  });
  const erased = (view: Record<string, unknown> | null) =>
    view && { ...view, ...('name' in view ? { name: 'erased' } : {}), ...('email' in view ? { email: 'erased' } : {}) };
  expect(kept).toEqual(before.map((entry) => ({ ...entry, before: erased(entry.before), after: erased(entry.after) })));
  const marked = await world.sql.query(
    'SELECT DISTINCT erased_fields FROM audit_log WHERE account = $1 AND erased_at IS NOT NULL',
    [account.id],
  );
  expect(marked).toEqual([{ erased_fields: ['name', 'email'] }]);
  // The address can be used again, for another user.
  expect((await client.makeAccount({ email })).email).toBe(email);
});

test('closing keeps the address of a user who belongs to another account', async () => {
  const email = randomEmail();
  const [going, staying] = [
    await client.makeAccount({ type: 'team', email }),
    await client.makeAccount({ type: 'team' }),
  ];
  await client.makeMember(staying.id, { email });
  const answer = accepted(await close(going.id)).account;
  expect(answer.email).toMatch(/^erased:usr_/);
  expect((await members(going.id))[0]).toMatchObject({ id: going.ownerMemberId, email: answer.email });
  const userOf = async (address: string) =>
    (await world.sql.query<{ id: string }>('SELECT id FROM users WHERE email = $1', [address]))[0]?.id;
  const people = [await userOf(email), await userOf(staying.email)];
  const replacement = answer.email.replace('erased:', '');
  await until('billing erases the origins', () => world.erased.includes(replacement));
  expect(world.erased).not.toContain(people[0]);
  expect((await members(staying.id)).map((one) => one.email).sort()).toEqual([email, staying.email].sort());
  await close(staying.id);
  await until('billing erases their origins too', () => people.every((person) => world.erased.includes(person ?? '')));
  expect(await world.sql.query('SELECT FROM users WHERE email = ANY ($1)', [[email, staying.email]])).toEqual([]);
});

test('closing a closed account changes nothing and returns the same', async () => {
  const account = await client.makeAccount();
  const first = await close(account.id);
  expect(await close(account.id)).toEqual(first);
  const answers = await Promise.all(Array.from({ length: 5 }, () => close(account.id)));
  expect(answers).toEqual(answers.map(() => first));
  expect(await client.audit({ account: account.id })).toHaveLength(2);
  const other = await client.makeAccount();
  const together = await Promise.all(Array.from({ length: 5 }, () => close(other.id)));
  expect(together).toEqual(together.map(() => together[0]));
  expect(await client.audit({ account: other.id })).toHaveLength(2);
});

test('an account stays open if billing refuses or is not available', async () => {
  const account = await client.makeAccount();
  world.answerClosing({ refused: { code: 'state_conflict', message: 'the wallet holds 5.00 USD', param: null } });
  expect(await close(account.id)).toEqual(refused('state_conflict'));
  world.answerClosing(new Error('billing is away'));
  await expect(close(account.id)).rejects.toMatchObject({ code: 'dependency_unavailable' });
  expect(await world.dashboard.request(accountsGetAccount, { account: account.id })).toEqual({ account });
  expect(await close('acc_none')).toEqual(refused('not_found'));
});

test('the keys of a closed account are sent to admission in several messages', async () => {
  const account = await client.makeAccount();
  const total = KEYS_PER_MESSAGE_MAX + 20;
  world.fund({ ...FUNDED, activeKeysMax: total });
  const made = [];
  for (let index = 0; index < total; index += 1) made.push((await client.makeKey(account.id)).id);
  await close(account.id);
  const admission = await world.connect('admission');
  for (const key of made) {
    const loaded = await admission.request(accountsLoad, { account: account.id, key });
    expect([loaded.account?.state, loaded.key?.state]).toEqual(['suspended', 'revoked']);
  }
  const told = made.filter((key) => world.admission.key(key)?.state === 'revoked');
  expect(told.length).toBeGreaterThanOrEqual(KEYS_PER_MESSAGE_MAX);
}, 60_000);

test('the service role cannot erase an open account', async () => {
  const account = await client.makeAccount();
  const { pool } = world.database;
  await expect(pool.query('SELECT erase_closed_account($1)', [account.id])).rejects.toThrow('is not closed');
  for (const text of ["UPDATE users SET email = 'x@y'", 'UPDATE audit_log SET before = NULL', 'DELETE FROM audit_log'])
    await expect(pool.query(text)).rejects.toThrow('permission denied');
});
