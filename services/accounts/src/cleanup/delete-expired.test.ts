import { expect, test } from '@jest/globals';
import { accountsResendVerification } from '@gateway/contracts/messages';
import { until } from '@gateway/testkit';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { randomEmail } from '../../test/operator-client.js';
import { newClient, originOf, startPeopleWorld, tokenIn } from '../../test/people-client.js';
import type { Funding } from '../base/rules.js';
import { SIGN_UP_KEPT_MS, deleteSignUps } from './delete-expired.js';
import { createCleanupStore } from './store.js';

const world = duringTests(() => startPeopleWorld('forgotten-mails'));
const people = onceUsed(() => world.people);
const pool = onceUsed(() => world.database.pool);

const NO_FUNDS: Funding = {
  walletNanoUsd: null,
  planActive: false,
  activeKeysMax: 3,
  defaultKeyCapNanoUsd: null,
  inLedger: false,
};
const deleteOld = (inLedger: readonly string[] = []) =>
  deleteSignUps({
    store: createCleanupStore(pool),
    billing: {
      fundingOf: (account) => Promise.resolve({ ...NO_FUNDS, inLedger: inLedger.includes(account) }),
    },
    nowMs: () => Date.now(),
  });
/** Moves a sign-up and its emailed links into the past. */
const age = async (email: string, ms: number) => {
  await world.sql.execute("UPDATE users SET signed_up_at = now() - $2 * interval '1 ms' WHERE email = $1", [email, ms]);
  const links = `UPDATE mail_tokens SET expires_at = expires_at - $2 * interval '1 ms'
    WHERE user_id = (SELECT id FROM users WHERE email = $1)`;
  await world.sql.execute(links, [email, ms]);
};
const signUp = async (ms: number) => {
  const email = randomEmail();
  await people.signUp(email);
  const token = tokenIn((await people.mailTo(email, 'Verify')).text);
  await age(email, ms);
  const text = 'SELECT u.id, m.account FROM users u JOIN members m ON m.user_id = u.id WHERE u.email = $1';
  const row = await world.sql.one<{ id: string; account: string }>(text, [email]);
  return { email, token, id: row?.id ?? '', account: row?.account ?? '' };
};
const isThere = async (email: string) =>
  (await world.sql.query('SELECT FROM users WHERE email = $1', [email])).length === 1;
const OLD = SIGN_UP_KEPT_MS + 60_000;

test('an unverified sign-up is deleted completely after seven days', async () => {
  const [old, young] = [await signUp(OLD), await signUp(OLD - 120_000)];
  expect(await deleteOld()).toBe(1);
  expect([await isThere(old.email), await isThere(young.email)]).toEqual([false, true]);
  for (const table of ['users', 'accounts', 'members', 'mail_tokens', 'audit_log']) {
    const rows = await world.sql.query<{ text: string }>(`SELECT t::text AS text FROM ${table} t`);
    const text = JSON.stringify(rows);
    for (const trace of [old.email, old.id, old.account])
      expect({ table, has: text.includes(trace) }).toEqual({ table, has: false });
  }
  expect(await people.useToken(old.token, 'verify')).toEqual({ kind: 'token_invalid' });
  await people.signUp(old.email);
  await people.mailTo(old.email, 'Verify');
});

test('a sign-up with a valid link, or a repeated one, is not deleted', async () => {
  const [resent, again] = [await signUp(OLD), await signUp(OLD)];
  await world.dashboard.request(accountsResendVerification, { email: resent.email, origin: originOf(newClient()) });
  const link = await until('another link', async () => {
    const token = tokenIn((await people.mailTo(resent.email, 'Verify')).text);
    return token !== resent.token && token;
  });
  await people.signUp(again.email);
  // The link alone does not keep it, because the email may be delayed.
  await until('the sign-up is processed', async () => (await world.sql.query('SELECT FROM mail_outbox')).length === 0);
  await world.sql.execute('DELETE FROM mail_tokens WHERE user_id = $1', [again.id]);
  expect(await deleteOld()).toBe(0);
  const store = createCleanupStore(pool);
  // They are not listed before others, and billing is not queried about them.
  expect(await store.unverifiedSignUps(Date.now() - SIGN_UP_KEPT_MS, 100)).toEqual([]);
  expect(await store.deleteSignUp(resent.id)).toBe(false);
  expect(await people.useToken(link, 'verify')).toEqual({ kind: 'used', email: resent.email });
  // The sign-up is deleted after the link has expired.
  await age(again.email, OLD);
  expect(await deleteOld()).toBe(1);
});

test('verified, invited and funded users and changed accounts are not deleted', async () => {
  const verified = await signUp(0);
  await people.useToken(verified.token, 'verify');
  await age(verified.email, OLD);
  const invited = await signUp(OLD);
  await people.invite((await world.client.makeAccount({ type: 'team' })).id, invited.email);
  const owner = await signUp(OLD);
  await world.client.makeAccount({ email: owner.email, emailVerified: false });
  const funded = await signUp(OLD);
  const suspended = await signUp(OLD);
  await world.sql.execute(
    "INSERT INTO audit_log (actor, action, account, object_id) VALUES ('operator:x', 'suspend_account', $1, $1)",
    [suspended.account],
  );
  expect(await deleteOld([funded.account])).toBe(0);
  const kept = [verified, invited, owner, funded, suspended];
  expect(await Promise.all(kept.map(({ email }) => isThere(email)))).toEqual(kept.map(() => true));
  // They are not returned again.
  const left = createCleanupStore(pool).unverifiedSignUps(Date.now() - SIGN_UP_KEPT_MS, 100);
  expect(await left).toEqual([]);
});

test('the service role cannot delete users and audit entries', async () => {
  const young = await signUp(SIGN_UP_KEPT_MS - 60_000);
  expect(await createCleanupStore(pool).deleteSignUp(young.id)).toBe(false);
  await expect(pool.query('DELETE FROM users')).rejects.toThrow('permission denied');
  await expect(pool.query("DELETE FROM audit_log WHERE kind = 'refused'")).rejects.toThrow('permission denied');
});
