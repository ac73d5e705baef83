import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startLedgerWorld, until, type LedgerDatabase, type LedgerWorld } from '../../test/ledger-world.js';
import { makeShardLocks } from './shard-locks.js';

let world: LedgerWorld;
let ledger: LedgerDatabase;

beforeAll(async () => {
  world = await startLedgerWorld();
  ledger = await world.ledger();
}, 60_000);
afterAll(() => world.stop());

test('one process holds a shard; it goes to another one when it is given back', async () => {
  const [one, other] = [makeShardLocks(ledger.pool, () => undefined), makeShardLocks(ledger.pool, () => undefined)];
  expect(await one.hold(0)).toBe(true);
  expect(await one.hold(0)).toBe(true);
  expect(await other.hold(0)).toBe(false);
  expect(await other.hold(1)).toBe(true);
  await one.release();
  await until(() => other.hold(0), 'the other one has it');
  await other.release();
});

test('a broken session loses its shards, says so, and can take them again', async () => {
  let lost = 0;
  const locks = makeShardLocks(ledger.pool, () => (lost += 1));
  expect(await locks.hold(2)).toBe(true);
  await ledger.admin.query(
    `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = 2
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  await until(() => lost === 1, 'the loss is told');
  await until(() => locks.hold(2), 'it is held again');
  await locks.release();
});
