import { beforeAll, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  accountsDeleteMember,
  accountsEnsurePlaygroundKey,
  accountsFind,
  accountsGetKey,
  accountsListKeys,
  accountsLoad,
  accountsNames,
  accountsPutMember,
  accountsSetAccountState,
} from '@gateway/contracts/messages';
import { IN_FORCE_MS, startOutbox } from '@gateway/postgres';
import type { RunningService } from '@gateway/service-kit';
import { silentLog, until } from '@gateway/testkit';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { FUNDED, startAccountsWorld } from '../../test/accounts-world.js';
import { accepted, AUTHOR, refused, secretParts } from '../../test/operator-client.js';
import { expectVersions } from '../../test/versions.js';

/**
 * Timeout of replicas while admission is stopped: enough for a machine under load, and short enough
 * for a test.
 */
const WAIT_MS = 1_000;
/**
 * Limit for changes to be applied after admission has started. They are retried within a second,
 * and the remaining time is for a machine under load.
 */
const BACK_MS = 10_000;

const world = duringTests(startAccountsWorld);
let service: RunningService;
const client = onceUsed(() => world.client);
let admissionBus: Bus;

beforeAll(async () => {
  service = await world.start();
  admissionBus = await world.connect('admission');
}, 60_000);

/** Restarts the service with a short timeout while admission is stopped. */
async function impatiently(work: () => Promise<void>): Promise<void> {
  await service.stop();
  service = await world.start({ inForceMs: WAIT_MS });
  try {
    await work();
  } finally {
    await service.stop();
    service = await world.start();
  }
}

const find = async (digest: string) => (await admissionBus.request(accountsFind, { digests: [digest] })).found;
const setAccount = (account: string, verb: 'suspend' | 'reinstate') =>
  world.dashboard.request(accountsSetAccountState, { account, verb, author: AUTHOR });
const putMember = (account: string, member: string, spec: object) =>
  world.dashboard.request(accountsPutMember, {
    account,
    member,
    spec: { email: 'nobody@example.com', role: 'member', ...spec },
    author: AUTHOR,
  });

test('a rotation replaces only the secret, and admission has it before the response', async () => {
  const account = await client.makeAccount();
  const [old, fresh] = [secretParts(), secretParts()];
  const spec = { name: 'Stays', monthlySpendCapUsd: '3', allowedModels: ['a/b'], expiresAt: '2099-01-01T00:00:00Z' };
  const key = await client.makeKey(account.id, spec, old);
  const askedMs = Date.now();
  const answer = await client.rotate(key.id, fresh);
  expect(answer).toEqual({ key: { ...key, maskedSecret: fresh.maskedSecret }, repeated: false, inForce: true });
  const [version] = world.admission.versions(key.id);
  expect(world.admission.key(key.id)).toMatchObject({ digest: fresh.digest, version, state: 'active' });
  expectVersions(world.admission.versions(key.id), [askedMs]);
  expect(await find(old.digest)).toBeNull();
  expect(await find(fresh.digest)).toEqual({ account: account.id, key: key.id, digest: fresh.digest });
});

test('the records sent to admission equal the records that it loads', async () => {
  const account = await client.makeAccount();
  const key = await client.makeKey(account.id, { monthlySpendCapUsd: '3' });
  await client.rotate(key.id);
  await setAccount(account.id, 'suspend');
  const loaded = await admissionBus.request(accountsLoad, { account: account.id, key: key.id });
  expect(loaded.key).toEqual(world.admission.key(key.id));
  expect(loaded.account).toEqual(world.admission.account(account.id));
});

test('a command rotates a key once, also after later changes', async () => {
  const key = await client.makeKey((await client.makeAccount()).id);
  const command = makeUuidV7(Date.now());
  const first = secretParts();
  const askedMs = [Date.now()];
  expect(await client.rotate(key.id, first, command)).toMatchObject({ repeated: false });
  expect(await client.rotate(key.id, secretParts(), command)).toMatchObject({
    repeated: true,
    key: { maskedSecret: first.maskedSecret },
  });
  askedMs.push(Date.now());
  await client.rotate(key.id);
  askedMs.push(Date.now());
  await client.setState(key.id, 'revoke');
  expect(await client.rotate(key.id, secretParts(), command)).toMatchObject({
    repeated: true,
    key: { state: 'revoked' },
  });
  expectVersions(world.admission.versions(key.id), askedMs);
  const other = await client.makeKey((await client.makeAccount()).id);
  expect(await client.rotate(other.id, secretParts(), command)).toEqual(refused('idempotency_conflict'));
});

test('a rotation refuses a used secret and a masked form that shows the secret', async () => {
  const account = await client.makeAccount();
  const [one, two] = [secretParts(), secretParts()];
  const key = await client.makeKey(account.id, {}, one);
  await client.makeKey(account.id, {}, two);
  expect(await client.rotate(key.id, one)).toEqual(refused('state_conflict'));
  expect(await client.rotate(key.id, two)).toEqual(refused('state_conflict'));
  const shown = { ...secretParts(), maskedSecret: one.digest };
  expect(await client.rotate(key.id, shown)).toEqual(refused('invalid_request'));
  expect(await find(one.digest)).toMatchObject({ key: key.id });
});

test.each([
  ['active', 'rotate', 'accepted'],
  ['active', 'suspend', 'suspended'],
  ['active', 'reinstate', 'active'],
  ['active', 'revoke', 'revoked'],
  ['suspended', 'rotate', 'key_not_active'],
  ['suspended', 'suspend', 'suspended'],
  ['suspended', 'reinstate', 'active'],
  ['suspended', 'revoke', 'revoked'],
  ['revoked', 'rotate', 'key_not_active'],
  ['revoked', 'suspend', 'key_not_active'],
  ['revoked', 'reinstate', 'key_not_active'],
  ['revoked', 'revoke', 'revoked'],
  ['expired', 'rotate', 'key_not_active'],
  ['expired', 'suspend', 'key_not_active'],
  ['expired', 'reinstate', 'key_not_active'],
  ['expired', 'revoke', 'key_not_active'],
] as const)('a key that is %s: %s → %s', async (state, verb, expected) => {
  const key = await client.makeKey((await client.makeAccount()).id);
  if (state === 'suspended') await client.setState(key.id, 'suspend');
  if (state === 'revoked') await client.setState(key.id, 'revoke');
  if (state === 'expired')
    await world.sql.execute("UPDATE api_keys SET expires_at = now() - interval '1 ms' WHERE id = $1", [key.id]);
  const before = world.admission.versions(key.id);
  const askedMs = Date.now();
  const answer = verb === 'rotate' ? await client.rotate(key.id) : await client.setState(key.id, verb);
  if (expected === 'key_not_active') {
    expect(answer).toEqual(refused('key_not_active'));
    expect(world.admission.versions(key.id)).toEqual(before);
    return;
  }
  const after = verb === 'rotate' ? 'active' : expected;
  expect(answer).toMatchObject({ key: { id: key.id, state: after } });
  const changes = verb === 'rotate' || after !== state;
  const told = world.admission.versions(key.id);
  expect(told.slice(0, before.length)).toEqual(before);
  expectVersions(told.slice(before.length), changes ? [askedMs] : [], before.at(-1));
  if (changes) expect(world.admission.key(key.id)).toMatchObject({ state: after });
});

test('an account is suspended and reinstated, and its keys keep their states', async () => {
  const account = await client.makeAccount();
  const key = await client.makeKey(account.id);
  const askedMs = [Date.now()];
  expect(await setAccount(account.id, 'suspend')).toEqual({ account: { ...account, state: 'suspended' } });
  const [version] = world.admission.versions(account.id);
  expect(world.admission.account(account.id)).toEqual({ account: account.id, state: 'suspended', version });
  expect(await setAccount(account.id, 'suspend')).toMatchObject({ account: { state: 'suspended' } });
  expect(world.admission.versions(account.id)).toEqual([version]);
  expect(await client.putKey(account.id)).toEqual(refused('state_conflict'));
  expect(await client.rotate(key.id)).toMatchObject({ key: { state: 'active' } });
  askedMs.push(Date.now());
  expect(await setAccount(account.id, 'reinstate')).toEqual({ account });
  const told = world.admission.versions(account.id);
  expect(world.admission.account(account.id)).toEqual({ account: account.id, state: 'active', version: told[1] });
  expectVersions(told, askedMs);
  expect(await setAccount('acc_none', 'suspend')).toEqual(refused('not_found'));
});

test("a member's cap is applied before the response, and a role is not sent", async () => {
  const account = await client.makeAccount({ type: 'team' });
  const member = await client.makeMember(account.id);
  const own = { email: member.email };
  const askedMs = [Date.now()];
  const put = await putMember(account.id, member.id, { ...own, role: 'admin', monthlySpendCapUsd: '4' });
  expect(put).toMatchObject({ member: { role: 'admin', monthlySpendCapUsd: '4.00' } });
  const [version] = world.admission.versions(member.id);
  const record = { account: account.id, member: member.id, capNanoUsd: 4_000_000_000, version };
  expect(world.admission.member(member.id)).toEqual(record);
  expect(await putMember(account.id, member.id, { ...own, monthlySpendCapUsd: '4' })).toMatchObject({
    member: { role: 'member' },
  });
  expect(world.admission.member(member.id)).toEqual(record);
  askedMs.push(Date.now());
  expect(await putMember(account.id, member.id, own)).toMatchObject({ member: { monthlySpendCapUsd: null } });
  const told = world.admission.versions(member.id);
  expect(world.admission.member(member.id)).toEqual({ ...record, capNanoUsd: null, version: told[1] });
  expectVersions(told, askedMs);
});

const ensurePlayground = (account: string, member: string, digest: string) =>
  world.dashboard.request(accountsEnsurePlaygroundKey, { account, member, digest, author: AUTHOR });

test('each member has one playground key that is updated in place and never listed', async () => {
  const account = await client.makeAccount({ type: 'team' });
  const member = await client.makeMember(account.id, { monthlySpendCapUsd: '4' });
  const ensure = (digest: string, of = account.id) => ensurePlayground(of, member.id, digest);
  const [one, two] = [secretParts().digest, secretParts().digest];
  const made = await Promise.all(Array.from({ length: 8 }, () => ensure(one)));
  const id = accepted(made[0] as (typeof made)[0]).key;
  expect(made).toEqual(made.map(() => ({ key: id })));
  // Admission uses the member's own key and cap, and not those of the owner.
  expect(await admissionBus.request(accountsLoad, { account: account.id, key: id })).toMatchObject({
    key: { kind: 'playground', member: member.id, digest: one, version: 1, capNanoUsd: null },
    member: { member: member.id, capNanoUsd: 4_000_000_000 },
  });
  const ofOwner = await ensurePlayground(account.id, account.ownerMemberId, secretParts().digest);
  expect(accepted(ofOwner).key).not.toBe(id);
  const askedMs = Date.now();
  expect(await ensure(two)).toEqual({ key: id });
  const [created, ...changed] = world.admission.versions(id);
  expect(created).toBe(1);
  expectVersions(changed, [askedMs]);
  expect(world.admission.key(id)).toMatchObject({ digest: two, version: changed[0] });
  expect(await find(one)).toBeNull();
  for (let n = 0; n < FUNDED.activeKeysMax; n += 1) await client.makeKey(account.id);
  const listed = accepted(
    await world.dashboard.request(accountsListKeys, { account: account.id, cursor: null, limit: 100 }),
  );
  expect(listed.keys.map((key) => key.id)).not.toContain(id);
  expect(await world.dashboard.request(accountsGetKey, { key: id })).toEqual(refused('not_found'));
  expect(await client.rotate(id)).toEqual(refused('not_found'));
  expect(await client.setState(id, 'revoke')).toEqual(refused('not_found'));
  expect(await ensure(one, 'acc_none')).toEqual(refused('not_found'));
  const other = await client.makeAccount();
  expect(await ensure(one, other.id)).toEqual(refused('not_found'));
});

test('deleting a member revokes the playground key of the member only', async () => {
  const account = await client.makeAccount({ type: 'team' });
  const member = await client.makeMember(account.id);
  const { digest } = secretParts();
  const { key } = accepted(await ensurePlayground(account.id, member.id, digest));
  const { key: ofOwner } = accepted(await ensurePlayground(account.id, account.ownerMemberId, secretParts().digest));
  const leave = () =>
    world.dashboard.request(accountsDeleteMember, { account: account.id, member: member.id, author: AUTHOR });
  expect(await leave()).toEqual({ deleted: true });
  await until('admission has the revocation', () => world.admission.key(key)?.state === 'revoked');
  expect(await ensurePlayground(account.id, member.id, digest)).toEqual(refused('not_found'));
  expect(await admissionBus.request(accountsLoad, { account: account.id, key: ofOwner })).toMatchObject({
    key: { state: 'active' },
  });
  expect(await client.audit({ object: key })).toMatchObject([
    { action: 'revoke_playground_key', ...AUTHOR, after: { state: 'revoked', memberId: member.id } },
    { action: 'create_playground_key' },
  ]);
  expect(await leave()).toEqual({ deleted: true });
  const names = { account: account.id, keys: [key], members: [] };
  expect((await world.dashboard.request(accountsNames, names)).keys).toEqual([
    { id: key, name: 'Playground', kind: 'playground', member: member.id, email: member.email },
  ]);
});

// Covers r10
test(
  'changes without admission return not_in_force and are applied after its start',
  () =>
    impatiently(async () => {
      const account = await client.makeAccount({ type: 'team' });
      const member = await client.makeMember(account.id);
      const [rotating, revoked, suspended] = [
        await client.makeKey(account.id),
        await client.makeKey(account.id),
        await client.makeKey(account.id),
      ];
      const command = makeUuidV7(Date.now());
      const fresh = secretParts();
      const changes = {
        rotate: () => client.rotate(rotating.id, fresh, command),
        revoke: () => client.setState(revoked.id, 'revoke'),
        suspend: () => client.setState(suspended.id, 'suspend'),
        account: () => setAccount(account.id, 'suspend'),
        member: () => putMember(account.id, member.id, { email: member.email, monthlySpendCapUsd: '4' }),
      };
      await world.admission.stop();
      const overdue = refused('not_in_force');
      // The key already has the new secret. The response must return it, because it cannot be read
      // later.
      const key = expect.objectContaining({ id: rotating.id, maskedSecret: fresh.maskedSecret });
      const rotated = { key, repeated: false, inForce: false };
      const askedMs = Date.now();
      const answers = await Promise.all(Object.values(changes).map((change) => change()));
      expect(answers).toEqual([rotated, overdue, overdue, overdue, overdue]);
      // A repeated command finds its earlier change and must not report it as applied too early.
      const again = { ...rotated, repeated: true };
      expect(await Promise.all([changes.revoke(), changes.rotate()])).toEqual([overdue, again]);
      // Sets the attempts as after an hour. A delay that kept doubling would exceed the limit
      // below.
      await world.sql.execute('UPDATE outbox SET attempts = 20');
      await until('the change is retried', async () => {
        const tried = await world.sql.query('SELECT FROM outbox WHERE attempts > 20');
        return tried.length > 0;
      });
      await world.admission.start();
      const backMs = performance.now();
      await until('all changes are applied', async () => (await world.sql.query('SELECT FROM outbox')).length === 0);
      expect(performance.now() - backMs).toBeLessThan(BACK_MS);
      expect(world.admission.key(rotating.id)).toMatchObject({ digest: fresh.digest });
      expect(world.admission.key(revoked.id)).toMatchObject({ state: 'revoked' });
      expect(world.admission.key(suspended.id)).toMatchObject({ state: 'suspended' });
      expect(world.admission.account(account.id)).toMatchObject({ state: 'suspended' });
      for (const { id } of [rotating, revoked, suspended, account, member])
        expectVersions(world.admission.versions(id), [askedMs]);
      expect(await changes.rotate()).toEqual({ ...again, inForce: true });
      expect(await changes.revoke()).toMatchObject({ key: { state: 'revoked' } });
    }),
  30_000,
);

// Covers r10
test('a change waits five seconds for admission', async () => {
  expect(IN_FORCE_MS).toBe(5_000);
  const key = await client.makeKey((await client.makeAccount()).id);
  await world.admission.stop();
  try {
    const begunMs = performance.now();
    expect(await client.setState(key.id, 'suspend')).toEqual(refused('not_in_force'));
    expect(performance.now() - begunMs).toBeGreaterThan(IN_FORCE_MS - 100);
  } finally {
    await world.admission.start();
  }
});

test('a replica notices a change that another replica delivers', async () => {
  const key = await client.makeKey((await client.makeAccount()).id);
  // Simulates a replica that takes every row first and delivers it later.
  const { pool } = world.database;
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  // Admission stays stopped, so only the delivery of the other replica can end the wait.
  await world.admission.stop();
  const asked = client.setState(key.id, 'suspend');
  let taken = false;
  const thief = startOutbox({
    pool,
    log: silentLog,
    pollMs: 10,
    deliver: async ({ body }) => {
      // Rows of earlier tests may still wait for a retry.
      taken ||= JSON.stringify(body).includes(key.id);
      await held;
    },
  });
  try {
    await until('the other replica has taken the row', () => taken);
    release();
    expect(await asked).toMatchObject({ key: { state: 'suspended' } });
  } finally {
    release();
    await thief.stop();
    await world.admission.start();
  }
});
