import { beforeAll, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { accountsBeginIdempotent, accountsEndIdempotent } from '@gateway/contracts/messages';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { startAccountsWorld } from '../../test/accounts-world.js';
import { createIdempotencyStore } from './store.js';
import { beginIdempotent } from './handlers.js';
import { createCleanupStore } from '../cleanup/store.js';
import { deleteExpired } from '../cleanup/delete-expired.js';

const HOUR_MS = 3_600_000;
const NOW = Date.UTC(2026, 10, 20, 12);
const [FINGERPRINT, OTHER] = ['a'.repeat(64), 'b'.repeat(64)];

const world = duringTests(startAccountsWorld);
const pool = onceUsed(() => world.database.pool);

beforeAll(() => world.start());

let requests = 0;
const request = (more: object = {}) => ({
  operator: 'operator:test',
  idempotencyKey: `request ${(requests += 1)}`,
  fingerprint: FINGERPRINT,
  ...more,
});
const begin = (body: ReturnType<typeof request>) => world.dashboard.request(accountsBeginIdempotent, body);
const end = (body: ReturnType<typeof request>, status: number, text: string) =>
  world.dashboard.request(accountsEndIdempotent, { ...body, status, body: text });

test('a repeated request gets the same command, and after its end the response', async () => {
  const own = request();
  const begun = await Promise.all(Array.from({ length: 10 }, () => begin(own)));
  expect(begun).toEqual(begun.map(() => begun[0]));
  expect(begun[0]).toMatchObject({ kind: 'begun', command: expect.stringMatching(/^[0-9a-f-]{36}$/) });
  expect(await end(own, 201, '{"id":"key_1"}')).toEqual({ stored: true });
  expect(await begin(own)).toEqual({ kind: 'done', status: 201, body: '{"id":"key_1"}' });
  expect(await end(own, 200, '{}')).toEqual({ stored: true });
  expect(await begin(own)).toEqual({ kind: 'done', status: 201, body: '{"id":"key_1"}' });
});

test('a different request with the same key conflicts, unless by another operator', async () => {
  const own = request();
  await begin(own);
  const other = { ...own, fingerprint: OTHER };
  expect(await begin(other)).toEqual({ kind: 'conflict' });
  expect(await end(other, 200, '{}')).toEqual({ stored: true });
  expect(await begin(own)).toMatchObject({ kind: 'begun' });
  expect(await begin({ ...other, operator: 'operator:other' })).toMatchObject({ kind: 'begun' });
});

test('an idempotency key is free again after a day', async () => {
  const idempotency = createIdempotencyStore(pool);
  const own = request();
  const at = (now: number, fingerprint = FINGERPRINT) =>
    beginIdempotent({ idempotency, makeCommand: () => makeUuidV7(now), nowMs: () => now }, { ...own, fingerprint });
  const first = await at(NOW);
  await idempotency.end(own, 200, 'old');
  expect(await at(NOW + 24 * HOUR_MS - 60_000, OTHER)).toEqual({ kind: 'conflict' });
  expect(await at(NOW + 24 * HOUR_MS)).toEqual({ kind: 'done', status: 200, body: 'old' });
  const later = await at(NOW + 24 * HOUR_MS + 1, OTHER);
  expect(later).toMatchObject({ kind: 'begun' });
  expect(later).not.toEqual(first);
});

test('only old idempotency keys and rotation commands are deleted, in batches', async () => {
  const account = await world.client.makeAccount();
  const key = await world.client.makeKey(account.id);
  const command = makeUuidV7(Date.now());
  await world.client.rotate(key.id, undefined, command);
  const insert = `INSERT INTO idempotency_keys (operator, key, fingerprint, command, created_at)
    SELECT $1, n::text, $2, gen_random_uuid(), $3 FROM generate_series(1, $4) n`;
  const now = Date.now();
  await world.sql.execute(insert, ['operator:old', FINGERPRINT, new Date(now - 25 * HOUR_MS), 2_500]);
  await world.sql.execute(insert, ['operator:new', FINGERPRINT, new Date(now - 23 * HOUR_MS), 10]);
  const store = createCleanupStore(pool);
  const count = async (operator: string) =>
    (await world.sql.query('SELECT FROM idempotency_keys WHERE operator = $1', [operator])).length;
  const before = {
    idempotencyKeys: now - 24 * HOUR_MS,
    rotations: now - 48 * HOUR_MS,
    sessionsBegan: 0,
    sessionsUsed: 0,
    operatorSessionsBegan: 0,
    operatorSessionsUsed: 0,
    tokensExpired: 0,
    attemptsBegan: 0,
  };
  expect(await store.deleteExpired(before, 100)).toBe(100);
  const deps = { store, nowMs: () => now };
  const both = await Promise.all([deleteExpired(deps), deleteExpired(deps)]);
  expect(both.reduce((sum, gone) => sum + gone, 0)).toBeGreaterThanOrEqual(2_400);
  expect([await count('operator:old'), await count('operator:new')]).toEqual([0, 10]);
  const rotations = () => world.sql.query('SELECT FROM key_rotations WHERE command = $1', [command]);
  expect(await rotations()).toHaveLength(1);
  await world.sql.execute("UPDATE key_rotations SET created_at = now() - interval '49 hours'");
  await deleteExpired(deps);
  expect(await rotations()).toHaveLength(0);
});
