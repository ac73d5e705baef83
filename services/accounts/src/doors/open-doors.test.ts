import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import { digestOfSecret, makeSecret, maskSecret } from '@gateway/contracts/ids';
import {
  accountsCreateAccount,
  accountsCreateKey,
  accountsFind,
  accountsListAccounts,
  accountsLoad,
} from '@gateway/contracts/messages';
import type { AccountView, KeyView } from '@gateway/contracts/operator';
import { createPool, dumpSchema, onPool } from '@gateway/postgres';
import { until } from '@gateway/testkit';
import { FUNDED, startAccountsWorld, type AccountsWorld } from '../../test/accounts-world.js';

const ACTOR = 'operator:test';
const PEPPER = 'a pepper for tests';

const GOLDEN = new URL('../../schema.golden.txt', import.meta.url);

let world: AccountsWorld;
let dashboard: Bus;
let admission: Bus;

beforeAll(async () => {
  world = await startAccountsWorld();
  await world.start();
  dashboard = await world.connect('dashboard');
  admission = await world.connect('admission');
}, 60_000);

beforeEach(() => world.fund(FUNDED));

afterAll(() => world.stop());

interface Made {
  readonly account: AccountView;
}

async function makeAccount(
  more: { email?: string; emailVerified?: boolean; type?: 'team' } = {},
): Promise<AccountView> {
  const email = `${randomBytes(6).toString('hex')}@example.com`;
  const spec = { name: 'An account', email, emailVerified: true, ...more };
  const answer = await dashboard.request(accountsCreateAccount, { spec, actor: ACTOR });
  if ('refused' in answer) throw new Error(JSON.stringify(answer));
  return (answer as Made).account;
}

function secretParts(secret = makeSecret('mgw_live_')) {
  return { digest: digestOfSecret(secret, PEPPER), maskedSecret: maskSecret(secret) };
}

const putKey = (account: string, spec: object = {}, parts = secretParts()) =>
  dashboard.request(accountsCreateKey, { account, spec: { name: 'A key', ...spec }, ...parts, actor: ACTOR });

async function makeKey(account: string, spec: object = {}, parts = secretParts()): Promise<KeyView> {
  const answer = await putKey(account, spec, parts);
  if ('refused' in answer) throw new Error(JSON.stringify(answer));
  return answer.key;
}

const refused = (code: string, param: string | null = null) => ({ refused: expect.objectContaining({ code, param }) });

test('an account is created with its owner, and every id says what it is', async () => {
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
  });
  const rows = await world.sql.query('SELECT role, user_id FROM members WHERE account = $1', [account.id]);
  expect(rows).toEqual([{ role: 'owner', user_id: expect.stringMatching(/^usr_[0-9a-f]{32}$/) }]);
});

test('a known address is the same user, whoever asks at the same time, and stays verified', async () => {
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

test('a key is created, shown without its digest, and found by it', async () => {
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
    allowedModels: ['acme/one'],
    expiresAt: '2099-01-01T00:00:00.000Z',
    createdAt: expect.any(String),
  });
  const found = { account: account.id, key: key.id, digest: parts.digest };
  expect(await admission.request(accountsFind, { digests: [parts.digest] })).toEqual({ found });
  expect(await admission.request(accountsFind, { digests: ['0'.repeat(64), parts.digest] })).toEqual({ found });
  expect(await admission.request(accountsFind, { digests: ['0'.repeat(64)] })).toEqual({ found: null });
});

test('account, key and member are loaded together; what is not there is null', async () => {
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
      allowedModels: null,
      version: 1,
    },
    member: { account: account.id, member: account.ownerMemberId, capNanoUsd: null, version: 1 },
  });
  expect(await load(account.id, null)).toEqual({ account: record, key: null, member: null });
  const other = await makeAccount();
  expect(await load(other.id, key.id)).toMatchObject({ account: { account: other.id }, key: null, member: null });
  expect(await load('acc_none', key.id)).toEqual({ account: null, key: null, member: null });
});

test('the key rules: address, funds, maximum, account and member', async () => {
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

test('fifty keys asked for at once at a maximum of three leave exactly three', async () => {
  const account = await makeAccount();
  await world.start();
  const answers = await Promise.all(Array.from({ length: 50 }, () => putKey(account.id)));
  expect(answers.filter((answer) => 'key' in answer)).toHaveLength(3);
  const codes = answers.flatMap((answer) => ('refused' in answer ? [answer.refused.code] : []));
  expect(new Set(codes)).toEqual(new Set(['key_limit_reached']));
  expect(await world.sql.query('SELECT FROM api_keys WHERE account = $1', [account.id])).toHaveLength(3);
}, 30_000);

test('suspended keys take a place; revoked, expired and playground keys do not', async () => {
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

test('a secret is taken once, and a masked form that shows too much is refused', async () => {
  const account = await makeAccount();
  const parts = secretParts();
  await makeKey(account.id, {}, parts);
  expect(await putKey(account.id, {}, parts)).toEqual(refused('state_conflict'));
  const secret = makeSecret('mgw_live_');
  expect(await putKey(account.id, {}, { ...secretParts(), maskedSecret: secret })).toEqual(refused('invalid_request'));
});

test('when billing does not answer, no key is made and the asker is told so', async () => {
  const account = await makeAccount();
  world.fund(new Error('billing is broken'));
  await expect(putKey(account.id)).rejects.toMatchObject({ code: 'dependency_unavailable' });
  expect(await world.sql.query('SELECT FROM api_keys WHERE account = $1', [account.id])).toHaveLength(0);
});

test('lists are pages in the order of creation that cover every account once', async () => {
  const made: string[] = [];
  for (let n = 0; n < 5; n += 1) made.push((await makeAccount()).id);
  const listed: string[] = [];
  let cursor: string | null = null;
  let total = 0;
  do {
    const page: { accounts: AccountView[]; nextCursor: string | null; total: number } = await dashboard.request(
      accountsListAccounts,
      { cursor, limit: 3 },
    );
    expect(page.accounts.length).toBeLessThanOrEqual(3);
    listed.push(...page.accounts.map(({ id }) => id));
    ({ nextCursor: cursor, total } = page);
  } while (cursor !== null);
  expect(listed).toHaveLength(total);
  expect(new Set(listed).size).toBe(total);
  expect(listed.filter((id) => made.includes(id))).toEqual(made);
});

test('every write is in the audit log with who made it, and no digest stands anywhere but at its key', async () => {
  const account = await makeAccount();
  const parts = secretParts();
  const key = await makeKey(account.id, {}, parts);
  const rows = await world.sql.query<{ actor: string; action: string; object_id: string; text: string }>(
    'SELECT actor, action, object_id, concat(before, after) AS text FROM audit_log WHERE account = $1 ORDER BY id',
    [account.id],
  );
  expect(rows).toMatchObject([
    { actor: ACTOR, action: 'create_account', object_id: account.id },
    { actor: ACTOR, action: 'create_key', object_id: key.id },
  ]);
  expect(rows.map((row) => row.text).join('')).not.toContain(parts.digest);
});

test('the role cannot rewrite history or edit what a key may do', async () => {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const pool = createPool(world.roleUrl, { applicationName: 'test', log });
  try {
    for (const text of [
      'DELETE FROM audit_log',
      'UPDATE audit_log SET actor = actor',
      'UPDATE api_keys SET cap_nano_usd = NULL',
      'UPDATE api_keys SET allowed_models = NULL',
      'DELETE FROM api_keys',
      'UPDATE members SET account = account',
    ])
      await expect(onPool(pool).execute(text)).rejects.toMatchObject({ code: '42501' });
  } finally {
    await pool.end();
  }
});

test('the migrated schema is the committed one (delete schema.golden.txt to write it anew)', async () => {
  const schema = await dumpSchema(world.pool, 'accounts');
  if (!existsSync(GOLDEN) && process.env['CI'] === undefined) writeFileSync(GOLDEN, schema);
  expect(readFileSync(GOLDEN, 'utf8')).toBe(schema);
});

test('while PostgreSQL is away requests are answered as such, and work again afterwards', async () => {
  const account = await makeAccount();
  await world.postgres.restart?.({ kill: true });
  await until('an account is loaded', async () => {
    const answer = await admission
      .request(accountsLoad, { account: account.id, key: null })
      .catch((error: { code?: string }) => error.code);
    if (typeof answer === 'string') expect(answer).toBe('dependency_unavailable');
    return typeof answer === 'object';
  });
}, 30_000);
