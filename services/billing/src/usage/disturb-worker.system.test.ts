import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { testSeed } from '@gateway/testkit/seed';
import { runAudit } from '../../test/audit.js';
import { readLedger, DisturbedWorld, killProcess } from '../../test/disturbed-world.js';
import { killAtEach, PORT_CALLS, Traffic } from '../../test/kill-rounds.js';

const SEED = testSeed();
const ALL_SHARDS = [0, 1, 2, 3];

let world: DisturbedWorld;

beforeAll(async () => {
  world = await DisturbedWorld.start();
}, 60_000);
afterAll(() => world.stop(), 60_000);

/** Expects the same ledger as after an undisturbed run over the same events. */
async function expectExact(): Promise<void> {
  await world.settled();
  expect(await readLedger(world.ledger.pool)).toEqual(await world.undisturbed());
  expect(await runAudit(world.ledger.pool)).toEqual([]);
}

// Covers billing is killed at any point
test(`a worker killed around each port call settles exactly (TEST_SEED=${SEED})`, async () => {
  const around = (call: string): string[] => [`before ${call}`, `after ${call}`];
  const kills = await killAtEach(world, PORT_CALLS.flatMap(around), 2, SEED);
  expect(kills).toBe(PORT_CALLS.length * 4);
  const last = world.worker();
  await expectExact();
  await killProcess(last);
}, 180_000);

// Covers billing is down
test(`5,000 events queued without a worker are settled exactly (TEST_SEED=${SEED})`, async () => {
  const traffic = new Traffic(ALL_SHARDS, SEED + 5);
  const queued: unknown[] = [];
  while (queued.length < 5_000) queued.push(...traffic.round());
  await world.store(queued, 50);
  const worker = world.worker({ batchEventsMax: 50 });
  await expectExact();
  await killProcess(worker);
}, 120_000);

// Covers NATS is gone; PostgreSQL is down
test(`events are settled exactly while servers are killed (TEST_SEED=${SEED})`, async () => {
  const traffic = new Traffic(ALL_SHARDS, SEED + 10);
  const worker = world.worker({ ackWaitMs: 1_000 });
  const load = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) await world.store(traffic.round(), 3);
  };
  for (const server of [world.postgres, world.bus.nats, world.postgres, world.bus.nats])
    await Promise.all([load(25), server.restart?.({ kill: true })]);
  await expectExact();
  await killProcess(worker);
}, 120_000);

test(`a hung worker that wakes late settles nothing twice (TEST_SEED=${SEED})`, async () => {
  const traffic = new Traffic(ALL_SHARDS, SEED + 20);
  const load = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) await world.store(traffic.round(), 3);
  };
  const holder = async (): Promise<number> => {
    const { rows } = await world.ledger.pool.query<{ holders: bigint }>(
      'SELECT count(DISTINCT backend_pid) AS holders FROM shard_holders',
    );
    return Number(rows[0]?.holders ?? 0);
  };
  const killed = world.worker();
  await until('the first one works', holder);
  const hung = world.worker();
  await load(10);
  await killProcess(killed);
  await load(5);
  await world.settled();

  hung.kill('SIGSTOP');
  await load(10);
  const rescuer = world.worker();
  await world.settled();
  hung.kill('SIGCONT');
  await load(10);
  await expectExact();
  await Promise.all([killProcess(hung), killProcess(rescuer)]);
}, 120_000);
