import { beforeAll, expect, test } from '@jest/globals';
import {
  accountsCreateOperator,
  accountsCreateOperatorSession,
  accountsDeleteOperator,
  accountsEndOperatorSession,
  accountsFindOperator,
  accountsFindOperatorSession,
} from '@gateway/contracts/messages';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { startAccountsWorld } from '../../test/accounts-world.js';
import { accepted, AUTHOR, refused, secretParts } from '../../test/operator-client.js';
import { createOperatorSessions } from './store.js';
import { createOperatorSession, findOperatorSession } from './sessions.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const world = duringTests(startAccountsWorld);
const pool = onceUsed(() => world.database.pool);
beforeAll(() => world.start());

const digestOfSome = (): string => secretParts().digest;
let names = 0;
async function makeOperator(expiresAt: string | null = null) {
  const digest = digestOfSome();
  const spec = { name: `someone-${(names += 1)}`, role: 'admin' as const, expiresAt };
  const { operator } = accepted(
    await world.dashboard.request(accountsCreateOperator, { spec, digest, author: AUTHOR }),
  );
  return { operator, digest };
}
async function signIn(holder: { kind: 'named'; operator: string } | { kind: 'root'; rootDigest: string }) {
  const digest = digestOfSome();
  const { created } = await world.dashboard.request(accountsCreateOperatorSession, { digest, holder });
  return { digest, created };
}
const holderOf = async (digest: string, rootDigests = ['0'.repeat(64)]) =>
  (await world.dashboard.request(accountsFindOperatorSession, { digests: [digest], rootDigests })).holder;

test('signing out ends one session of a named operator and no other', async () => {
  const { operator } = await makeOperator();
  const [one, other] = [
    await signIn({ kind: 'named', operator: operator.id }),
    await signIn({ kind: 'named', operator: operator.id }),
  ];
  expect(await holderOf(one.digest)).toEqual(operator);
  await world.dashboard.request(accountsEndOperatorSession, { digests: [one.digest] });
  expect([await holderOf(one.digest), await holderOf(other.digest)]).toEqual([null, operator]);
});

test('deleting an operator ends all sessions and prevents new ones', async () => {
  const { operator } = await makeOperator();
  const { digest } = await signIn({ kind: 'named', operator: operator.id });
  await world.dashboard.request(accountsDeleteOperator, { operator: operator.id, author: AUTHOR });
  expect(await holderOf(digest)).toBeNull();
  expect((await signIn({ kind: 'named', operator: operator.id })).created).toBe(false);
});

test("root's sessions are valid while the token of their sign-in is accepted", async () => {
  const [old, next] = [digestOfSome(), digestOfSome()];
  const { digest } = await signIn({ kind: 'root', rootDigest: old });
  expect(await holderOf(digest, [next, old])).toBe('root');
  expect(await holderOf(digest, [next])).toBeNull();
});

test('a session ends after 30 minutes without use and after 8 hours in total', async () => {
  const deps = { operatorSessions: createOperatorSessions(pool), nowMs: () => now };
  const rootDigest = digestOfSome();
  const began = Date.now();
  let now = began;
  const [used, idle] = [digestOfSome(), digestOfSome()];
  for (const digest of [used, idle])
    await createOperatorSession(deps, { digest, holder: { kind: 'root', rootDigest } });
  const find = async (digest: string) =>
    (await findOperatorSession(deps, { digests: [digest], rootDigests: [rootDigest] })).holder;
  now = began + 29 * MINUTE_MS;
  expect(await find(used)).toBe('root');
  now = began + 31 * MINUTE_MS;
  expect([await find(used), await find(idle)]).toEqual(['root', null]);
  for (; now < began + 8 * HOUR_MS - 20 * MINUTE_MS; now += 20 * MINUTE_MS) expect(await find(used)).toBe('root');
  now = began + 8 * HOUR_MS;
  expect(await find(used)).toBeNull();
});

test('a session found under the previous secret moves to the current one', async () => {
  const { operator } = await makeOperator();
  const { digest } = await signIn({ kind: 'named', operator: operator.id });
  const current = digestOfSome();
  const asked = { digests: [current, digest], rootDigests: ['0'.repeat(64)] };
  expect((await world.dashboard.request(accountsFindOperatorSession, asked)).holder).toEqual(operator);
  expect([await holderOf(current), await holderOf(digest)]).toEqual([operator, null]);
});

test("an operator's oldest session ends above the maximum", async () => {
  const { operator } = await makeOperator();
  const first = await signIn({ kind: 'named', operator: operator.id });
  for (let n = 0; n < 20; n += 1) await signIn({ kind: 'named', operator: operator.id });
  expect(await holderOf(first.digest)).toBeNull();
});

test('an expired token and its sessions are refused', async () => {
  const { operator, digest } = await makeOperator(new Date(Date.now() + HOUR_MS).toISOString());
  const session = await signIn({ kind: 'named', operator: operator.id });
  const found = await world.dashboard.request(accountsFindOperator, { digests: [digest] });
  expect([found.operator, await holderOf(session.digest)]).toEqual([operator, operator]);
  await world.sql.execute("UPDATE operators SET expires_at = now() - interval '1 second' WHERE id = $1", [operator.id]);
  const gone = await world.dashboard.request(accountsFindOperator, { digests: [digest] });
  expect([gone.operator, await holderOf(session.digest)]).toEqual([null, null]);
  expect((await signIn({ kind: 'named', operator: operator.id })).created).toBe(false);
  const spec = { name: 'too-late', role: 'admin' as const, expiresAt: new Date(Date.now() - 1).toISOString() };
  const late = await world.dashboard.request(accountsCreateOperator, { spec, digest: digestOfSome(), author: AUTHOR });
  expect(late).toEqual(refused('invalid_request', 'expiresAt'));
});
