import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { UsageEvent } from '@gateway/contracts/messages';
import { onPool } from '@gateway/postgres';
import { until } from '@gateway/testkit';
import { DisturbedWorld, killProcess } from '../../test/disturbed-world.js';
import { createHold, createSettledEvent } from '../../test/events.js';
import { readHighestOfBatches } from '../../test/highest-of-batches.js';
import { createAlertStore } from './store.js';

/** Points before and after each step of a batch that raises an alert. */
const POINTS = [
  'before insert_alerts',
  'after insert_alerts',
  'after enqueue_alert_outbox',
  'after write_rows',
  'before COMMIT',
  'after COMMIT',
  'after commit',
  'after snapshots',
  'before ack',
  'after ack',
];

let world: DisturbedWorld;

beforeAll(async () => {
  world = await DisturbedWorld.start();
}, 60_000);
afterAll(() => world.stop(), 60_000);

test('killed workers raise each alert once, publish it once, and keep the order', async () => {
  const accounts = POINTS.map((_, index) => `killed-${index}`);
  const store = createAlertStore(world.ledger.pool);
  for (const account of accounts)
    await store.applyCaps(account, [{ kind: 'key', id: `key-${account}`, capNanoUsd: 100n, version: 1 }]);
  for (const [index, point] of POINTS.entries()) {
    const account = accounts[index] as string;
    const events: UsageEvent[] = [50, 25, 15, 10].map((amount) => createSettledEvent(createHold(account), amount));
    await world.store([...events, ...events.slice(0, 2)], 1);
    // The worker that holds the shard reaches the point. The other one takes over, and reaches it
    // too if there are events left.
    const workers = [world.worker({ point }), world.worker({ point })];
    await until(
      `a worker reaches "${point}"`,
      () => workers.some(({ signalCode }) => signalCode === 'SIGKILL'),
      30_000,
    );
    await Promise.all(workers.map(killProcess));
  }
  const last = world.worker();
  await world.settled();
  await killProcess(last);
  const sql = onPool(world.ledger.pool);
  const raised = await sql.query<{ account: string; thresholds: number[] }>(
    'SELECT account, array_agg(threshold::int ORDER BY number) AS thresholds FROM alerts GROUP BY account ORDER BY account',
  );
  const published = await sql.query<{ account: string; thresholds: number[] }>(
    `SELECT key AS account, array_agg((body ->> 'threshold')::int ORDER BY id) AS thresholds
       FROM alert_outbox GROUP BY key ORDER BY key`,
  );
  const expected = [...accounts].sort().map((account) => ({ account, thresholds: [50, 75, 90, 100] }));
  expect(raised).toEqual(expected);
  const highest = accounts.map(async (account) => ({
    account,
    thresholds: await readHighestOfBatches(world.ledger.pool, account),
  }));
  expect(published).toEqual((await Promise.all(highest)).sort((one, other) => (one.account < other.account ? -1 : 1)));
}, 180_000);
