import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setTimeout as wait } from 'node:timers/promises';
import { testSeed } from '@gateway/testkit/seed';
import { runAudit } from '../test/audit.js';
import { readLedger, DisturbedWorld, killProcess } from '../test/disturbed-world.js';
import { seededRandom } from '../test/events.js';
import { killAtEach, PORT_CALLS, STATEMENTS, Traffic } from '../test/kill-rounds.js';

/** Without the command this is a small run that tests the verification itself. */
const FULL_RUN_EVENTS = process.env['GATEWAY_VERIFY_LEDGER_EVENTS'];
const EVENTS = Number(FULL_RUN_EVENTS ?? 600);
const KILLS = Number(process.env['GATEWAY_VERIFY_LEDGER_KILLS'] ?? 1);
const SEED = testSeed();
const VERIFICATION_MS = 4 * 3_600_000;
/**
 * Pause between two kills under load, milliseconds: minimum, and maximum of the random addition.
 */
const [PAUSE_MS, PAUSE_SPREAD_MS] = FULL_RUN_EVENTS === undefined ? [300, 200] : [2_000, 2_000];
/** Growth of the pause per kill, so that a worker on a slow machine can settle something. */
const PAUSE_GROWTH = 0.1;
const WORKERS = 2;
const MESSAGE_EVENTS = 50;
/** Rounds of traffic per store. */
const STORED_ROUNDS = 50;
/** Rounds that also settle calls that expired earlier. */
const LATE_ROUNDS = Math.ceil(EVENTS / 40);

let world: DisturbedWorld;

beforeAll(async () => {
  world = await DisturbedWorld.start();
}, 60_000);
afterAll(() => world.stop(), 60_000);

test(
  `${EVENTS} events with kills give the undisturbed balances (TEST_SEED=${SEED})`,
  async () => {
    const begunMs = performance.now();
    const sides = FULL_RUN_EVENTS === undefined ? ['after'] : ['before', 'after'];
    const points = [...PORT_CALLS, ...STATEMENTS].flatMap((call) => sides.map((side) => `${side} ${call}`));
    const atPoints = await killAtEach(world, points, KILLS, SEED, reportKills);
    const underLoad = await killUnderLoad();
    await world.settled();
    const ledger = await readLedger(world.ledger.pool);
    const undisturbed = await world.undisturbed();
    const differing = [...new Set([...Object.keys(ledger), ...Object.keys(undisturbed)])].filter(
      (name) => ledger[name] !== undisturbed[name],
    );
    const faults = await runAudit(world.ledger.pool);
    const figures = {
      events: world.eventsStored,
      atPoints,
      points: points.length,
      ...underLoad,
      balances: Object.keys(ledger).length,
      differing: differing.length,
      faults: faults.length,
      seconds: Math.round((performance.now() - begunMs) / 1_000),
    };
    // For docs/verification.md.
    if (FULL_RUN_EVENTS !== undefined) process.stdout.write(`${JSON.stringify(figures)}\n`);
    expect(differing).toEqual([]);
    expect(faults).toEqual([]);
  },
  VERIFICATION_MS,
);

/** Reports progress, because a full run takes hours. */
function reportKills(kills: number, of: number): void {
  if (FULL_RUN_EVENTS !== undefined && kills % 100 === 0) process.stderr.write(`${kills} of ${of} kills at points\n`);
}

/**
 * Runs two workers. Every few seconds one of them is killed and replaced, and sometimes a server is
 * killed.
 */
async function killUnderLoad(): Promise<{ kills: number; restarts: number }> {
  const random = seededRandom(SEED + 100);
  const traffic = new Traffic([0, 1, 2, 3], SEED + 101);
  const workers = Array.from({ length: WORKERS }, () => world.worker());
  let storing = true;
  const stored = storeAll(traffic)
    .then(() => world.settled(world.ledger, VERIFICATION_MS))
    .finally(() => {
      storing = false;
    });
  const sums = { kills: 0, restarts: 0 };
  while (storing) {
    const pauseMs = (PAUSE_MS + random() * PAUSE_SPREAD_MS) * (1 + sums.kills * PAUSE_GROWTH);
    await Promise.race([stored, wait(pauseMs)]);
    const at = Math.floor(random() * WORKERS);
    await killProcess(workers[at] as (typeof workers)[number]);
    workers[at] = world.worker();
    sums.kills += 1;
    if (sums.kills % 5 === 0) {
      await (random() < 0.5 ? world.postgres : world.bus.nats).restart?.({ kill: true });
      sums.restarts += 1;
    }
  }
  await stored;
  await Promise.all(workers.map(killProcess));
  return sums;
}

async function storeAll(traffic: Traffic): Promise<void> {
  await world.store(traffic.prepared(LATE_ROUNDS), MESSAGE_EVENTS);
  while (world.eventsStored < EVENTS) {
    const events = Array.from({ length: STORED_ROUNDS }, () => traffic.round()).flat();
    await world.store(events, MESSAGE_EVENTS);
  }
}
