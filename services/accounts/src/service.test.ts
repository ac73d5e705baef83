import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import { makeSecret } from '@gateway/contracts/ids';
import {
  accountsCreateAccount,
  accountsFind,
  accountsListAccounts,
  accountsLoad,
  accountsUnchanged,
  MESSAGES,
} from '@gateway/contracts/messages';
import { NO_KEY_TERMS } from '@gateway/contracts/operator';
import { dumpSchema, onPool } from '@gateway/postgres';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { FUNDED, startAccountsWorld } from '../test/accounts-world.js';
import { AUTHOR, refused, secretParts, type OperatorClient } from '../test/operator-client.js';
import { expectVersions } from '../test/versions.js';

const GOLDEN = new URL('../schema.golden.txt', import.meta.url);

// It kills PostgreSQL.
const world = duringTests(() => startAccountsWorld({ own: true }));
let admission: Bus;
let makeAccount: OperatorClient['makeAccount'];
let makeKey: OperatorClient['makeKey'];
let putKey: OperatorClient['putKey'];

beforeAll(async () => {
  await world.start();
  admission = await world.connect('admission');
  ({ makeAccount, makeKey, putKey } = world.client);
}, 60_000);

beforeEach(() => world.fund(FUNDED));

test('every request of the contract has a handler', async () => {
  const names = MESSAGES.filter(({ kind, servedBy }) => kind === 'request' && servedBy.includes('accounts'));
  for (const message of names) {
    if (message.kind !== 'request') continue;
    const [sender] = message.sentBy;
    const asker = sender === 'dashboard' ? world.dashboard : sender === 'billing' ? world.billing : admission;
    // No message accepts an empty body, and only a handler responds with this error.
    await expect(asker.request(message, {})).rejects.toMatchObject({ code: 'invalid_message' });
  }
  expect(names.length).toBeGreaterThan(20);
});

test('creating an account creates its owner, with prefixed IDs', async () => {
  const account = await makeAccount({ email: 'Ada@Example.com' });
  expect(account).toEqual({
    id: expect.stringMatching(/^acc_[0-9a-f]{32}$/),
    name: 'An account',
    type: 'personal',
    state: 'active',
    ownerMemberId: expect.stringMatching(/^mem_[0-9a-f]{32}$/),
    email: 'ada@example.com',
    emailVerified: true,
    createdAt: expect.any(String),
    externalId: null,
  });
  const rows = await world.sql.query('SELECT role, user_id FROM members WHERE account = $1', [account.id]);
  expect(rows).toEqual([{ role: 'owner', user_id: expect.stringMatching(/^usr_[0-9a-f]{32}$/) }]);
});

test('concurrent accounts of one address have one user, who stays verified', async () => {
  const email = 'grace@example.com';
  const all = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      makeAccount({ email: n % 2 ? email : 'Grace@example.com', emailVerified: n === 5 }),
    ),
  );
  expect(new Set(all.map(({ id }) => id)).size).toBe(12);
  const users = await world.sql.query('SELECT email_verified FROM users WHERE email = $1', [email]);
  expect(users).toEqual([{ email_verified: true }]);
  expect(await makeAccount({ email, emailVerified: false })).toMatchObject({ emailVerified: true });
});

test('a team account is created', async () => {
  expect(await makeAccount({ type: 'team' })).toMatchObject({ type: 'team' });
});

test('a new key is shown without its digest and found by it', async () => {
  const account = await makeAccount();
  const parts = secretParts();
  const spec = {
    name: ' Named ',
    monthlySpendCapUsd: '12.5',
    allowedModels: ['acme/one'],
    expiresAt: '2099-01-01T00:00:00Z',
  };
  const key = await makeKey(account.id, spec, parts);
  expect(key).toEqual({
    id: expect.stringMatching(/^key_[0-9a-f]{32}$/),
    accountId: account.id,
    memberId: account.ownerMemberId,
    name: 'Named',
    maskedSecret: parts.maskedSecret,
    state: 'active',
    monthlySpendCapUsd: '12.50',
    ...NO_KEY_TERMS,
    allowedModels: ['acme/one'],
    expiresAt: '2099-01-01T00:00:00.000Z',
    createdAt: expect.any(String),
    lastUsedAt: null,
    externalId: null,
  });
  const found = { account: account.id, key: key.id, digest: parts.digest };
  expect(await admission.request(accountsFind, { digests: [parts.digest] })).toEqual({ found });
  expect(await admission.request(accountsFind, { digests: ['0'.repeat(64), parts.digest] })).toEqual({ found });
  expect(await admission.request(accountsFind, { digests: ['0'.repeat(64)] })).toEqual({ found: null });
});

test('an external ID finds its account, and no second account or key gets it', async () => {
  const externalId = 'ml-team';
  const spec = { name: 'ML', email: 'ml@example.com', emailVerified: true, externalId };
  const create = () => world.dashboard.request(accountsCreateAccount, { spec, author: AUTHOR });
  const list = (id: string) =>
    world.dashboard.request(accountsListAccounts, { externalId: id, cursor: null, limit: 10 });
  expect(await list(externalId)).toEqual({ accounts: [], nextCursor: null, total: 0 });
  const answers = await Promise.all(Array.from({ length: 10 }, create));
  const made = answers.flatMap((answer) => ('account' in answer ? [answer.account] : []));
  expect(made).toEqual([expect.objectContaining({ externalId })]);
  expect(answers.filter((answer) => 'refused' in answer)).toEqual(
    Array.from({ length: 9 }, () => refused('state_conflict', 'externalId')),
  );
  expect(await list(externalId)).toEqual({ accounts: made, nextCursor: null, total: 1 });
  const [account, other] = [made[0]?.id ?? '', (await makeAccount()).id];
  const keys = await Promise.all([account, account, other].map((id) => putKey(id, { externalId })));
  const given = keys.map((answer) => ('key' in answer ? answer.key.externalId : answer.refused.param));
  // Either of the two requests of one account may be first.
  expect([given.slice(0, 2).sort(), given[2]]).toEqual([['externalId', externalId], externalId]);
  await expect(world.database.pool.query("UPDATE accounts SET external_id = 'x'")).rejects.toThrow('permission denied');
});

test('account, key and member are loaded together, with null for missing ones', async () => {
  const account = await makeAccount();
  const parts = secretParts();
  const key = await makeKey(account.id, { monthlySpendCapUsd: '1' }, parts);
  const load = (of: string, id: string | null) => admission.request(accountsLoad, { account: of, key: id });
  const record = { account: account.id, state: 'active', version: 1 };
  expect(await load(account.id, key.id)).toEqual({
    account: record,
    key: {
      account: account.id,
      key: key.id,
      member: account.ownerMemberId,
      kind: 'api',
      digest: parts.digest,
      state: 'active',
      expiresAt: null,
      capNanoUsd: 1_000_000_000,
      ...NO_KEY_TERMS,
      version: 1,
    },
    member: { account: account.id, member: account.ownerMemberId, capNanoUsd: null, version: 1 },
  });
  expect(await load(account.id, null)).toEqual({ account: record, key: null, member: null });
  const other = await makeAccount();
  expect(await load(other.id, key.id)).toMatchObject({ account: { account: other.id }, key: null, member: null });
  expect(await load('acc_none', key.id)).toEqual({ account: null, key: null, member: null });
});

test('accounts are unchanged if all listed versions match', async () => {
  const [account, other] = [await makeAccount(), await makeAccount()];
  const [key, ofOther] = [await makeKey(account.id), await makeKey(other.id)];
  const member = { id: account.ownerMemberId, version: 1 };
  const said = { account: account.id, version: 1, keys: [{ id: key.id, version: 1 }], members: [member] };
  const saidOfOther = { account: other.id, version: 1, keys: [{ id: ofOther.id, version: 1 }], members: [] };
  const unchanged = async (change: object) =>
    (await admission.request(accountsUnchanged, { accounts: [{ ...said, ...change }, saidOfOther] })).accounts;
  expect(await unchanged({})).toEqual([account.id, other.id]);
  for (const change of [
    { version: 2 },
    { keys: [{ id: key.id, version: 2 }] },
    { keys: [...said.keys, { id: ofOther.id, version: 1 }] },
    { members: [{ ...member, version: 2 }] },
    { members: [{ id: other.ownerMemberId, version: 1 }] },
    { account: 'acc_none', keys: [], members: [] },
  ])
    expect(await unchanged(change)).toEqual([other.id]);
  const askedMs = Date.now();
  await world.client.setState(key.id, 'revoke');
  expect(await unchanged({})).toEqual([other.id]);
  const [version = 0] = world.admission.versions(key.id);
  expectVersions(world.admission.versions(key.id), [askedMs]);
  expect(await unchanged({ keys: [{ id: key.id, version }] })).toEqual([account.id, other.id]);
  expect(await unchanged({ keys: [{ id: key.id, version: version + 1 }] })).toEqual([other.id]);
});

test('creating a key applies the rules: address, funds, maximum, account, member', async () => {
  const account = await makeAccount();
  const unverified = await makeAccount({ emailVerified: false });
  expect(await putKey(unverified.id)).toEqual(refused('email_not_verified'));
  world.fund({ ...FUNDED, walletNanoUsd: 0 });
  expect(await putKey(account.id)).toEqual(refused('no_funding'));
  world.fund({
    ...FUNDED,
    walletNanoUsd: null,
    planActive: true,
    activeKeysMax: 1,
    defaultKeyCapNanoUsd: 5_000_000_000,
  });
  expect(await makeKey(account.id)).toMatchObject({ monthlySpendCapUsd: '5.00' });
  expect(await putKey(account.id)).toEqual(refused('key_limit_reached'));
  world.fund(FUNDED);
  expect(await putKey('acc_none')).toEqual(refused('not_found'));
  expect(await putKey(account.id, { memberId: unverified.ownerMemberId })).toEqual(refused('not_found', 'memberId'));
  await world.sql.execute("UPDATE accounts SET state = 'suspended' WHERE id = $1", [account.id]);
  expect(await putKey(account.id)).toEqual(refused('state_conflict'));
});

test('suspended keys count toward the maximum; final and playground keys do not', async () => {
  const account = await makeAccount();
  const ids = [await makeKey(account.id), await makeKey(account.id), await makeKey(account.id)].map(({ id }) => id);
  const set = (change: string, id: string | undefined) =>
    world.sql.execute(`UPDATE api_keys SET ${change} WHERE id = $1`, [id]);
  await set("state = 'suspended'", ids[0]);
  expect(await putKey(account.id)).toEqual(refused('key_limit_reached'));
  await set("state = 'revoked'", ids[0]);
  await makeKey(account.id);
  await set("expires_at = now() - interval '1 second'", ids[1]);
  await makeKey(account.id);
  await set("kind = 'playground'", ids[2]);
  await makeKey(account.id);
  expect(await putKey(account.id)).toEqual(refused('key_limit_reached'));
});

test('a duplicate secret and a masked form that shows too much are refused', async () => {
  const account = await makeAccount();
  const parts = secretParts();
  await makeKey(account.id, {}, parts);
  expect(await putKey(account.id, {}, parts)).toEqual(refused('state_conflict'));
  const secret = makeSecret('mgw_live_');
  for (const maskedSecret of [secret, ''])
    expect(await putKey(account.id, {}, { ...secretParts(), maskedSecret })).toEqual(refused('invalid_request'));
});

test('a key request fails and creates nothing if billing does not respond', async () => {
  const account = await makeAccount();
  world.fund(new Error('billing is broken'));
  await expect(putKey(account.id)).rejects.toMatchObject({ code: 'dependency_unavailable' });
  expect(await world.sql.query('SELECT FROM api_keys WHERE account = $1', [account.id])).toHaveLength(0);
});

test("the service role cannot rewrite history or change a key's limits", async () => {
  const { pool } = world.database;
  for (const text of [
    'DELETE FROM audit_log',
    'UPDATE audit_log SET actor = actor',
    'UPDATE api_keys SET cap_nano_usd = NULL',
    'UPDATE api_keys SET allowed_models = NULL',
    'DELETE FROM api_keys',
    'UPDATE members SET account = account',
    'DELETE FROM members',
    'DELETE FROM operators',
    'UPDATE operators SET role = role',
    'UPDATE operators SET digest = digest',
    'SELECT FROM attempt_salt',
    'UPDATE key_rotations SET version = version',
  ])
    await expect(onPool(pool).execute(text)).rejects.toMatchObject({ code: '42501' });
});

test('the migrated schema matches schema.golden.txt (delete it to write a new one)', async () => {
  const schema = await dumpSchema(world.database.admin, 'accounts');
  if (!existsSync(GOLDEN) && process.env['CI'] === undefined) writeFileSync(GOLDEN, schema);
  expect(readFileSync(GOLDEN, 'utf8')).toBe(schema);
});

test('requests fail with dependency_unavailable while PostgreSQL is stopped', async () => {
  const account = await makeAccount();
  await world.postgres.restart?.({ kill: true });
  await until('an account is loaded', async () => {
    const answer = await admission
      .request(accountsLoad, { account: account.id, key: null })
      .catch((error: { code?: string }) => error.code);
    // A request that timed out has the code `timeout`.
    if (typeof answer === 'string') expect(['dependency_unavailable', 'timeout']).toContain(answer);
    return typeof answer === 'object';
  });
});
