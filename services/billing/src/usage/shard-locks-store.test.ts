import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until, type TestDatabase } from '@gateway/testkit';
import { type LedgerWorld, startLedgerWorld } from '../../test/ledger-world.js';
import { createShardLocks } from './shard-locks-store.js';

let world: LedgerWorld;
let ledger: TestDatabase;

beforeAll(async () => {
  world = await startLedgerWorld();
  ledger = await world.ledger();
}, 60_000);
afterAll(() => world.stop());

test('one process holds a shard, and another one gets it after the release', async () => {
  const [one, other] = [createShardLocks(ledger.pool, () => undefined), createShardLocks(ledger.pool, () => undefined)];
  expect(await one.hold(0)).toBe(true);
  expect(await one.hold(0)).toBe(true);
  expect(await other.hold(0)).toBe(false);
  expect(await other.hold(1)).toBe(true);
  await one.release();
  await until('the other process holds the shard', () => other.hold(0));
  await other.release();
});

test('a broken session loses its shards, calls onLost, and can take them again', async () => {
  let lost = 0;
  const locks = createShardLocks(ledger.pool, () => (lost += 1));
  expect(await locks.hold(2)).toBe(true);
  await ledger.admin.query(
    `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = 2
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  await until('onLost is called', () => lost === 1);
  await until('the shard is held again', () => locks.hold(2));
  await locks.release();
});

test('a silent holder loses its shard, and onLost is called', async () => {
  let lost = 0;
  const silentMs = 200;
  const hung = createShardLocks(ledger.pool, () => (lost += 1), silentMs);
  const other = createShardLocks(ledger.pool, () => undefined, silentMs);
  expect(await hung.hold(3)).toBe(true);
  expect(await other.hold(3)).toBe(false);
  // Its heartbeats continue in this process. An old heartbeat makes it look like a hung process to
  // the others.
  await until('the other process holds the shard', async () => {
    await ledger.admin.query(
      `UPDATE billing.shard_holders SET seen_at = seen_at - interval '1 minute' WHERE shard = 3`,
    );
    return other.hold(3);
  });
  await until('onLost is called', () => lost === 1);
  expect(await hung.hold(3)).toBe(false);
  await Promise.all([hung.release(), other.release()]);
});
