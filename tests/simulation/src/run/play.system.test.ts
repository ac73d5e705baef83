import { expect, test } from '@jest/globals';
import { makeGone } from '../scenario/make-gone.js';
import { makeNearEnd } from '../scenario/make-near-end.js';
import { makeFailover } from '../scenario/make-failover.js';
import { makeKept } from '../scenario/make-kept.js';
import { makeLate } from '../scenario/make-late.js';
import { makeOutage } from '../scenario/make-outage.js';
import { makePromoted } from '../scenario/make-promoted.js';
import { makeScenario } from '../scenario/make-scenario.js';
import { makeSeries } from '../scenario/make-series.js';
import { makeSilence } from '../scenario/make-silence.js';
import type { Scenario } from '../scenario/scenario.js';
import { openRedis } from './open-redis.js';
import { play } from './play.js';
import { runSeeds, type Totals } from './run-seeds.js';

const SEEDS = Number(process.env['GATEWAY_SIM_SEEDS'] ?? 500);
const REPLAYED = process.env['GATEWAY_SIM_SEED'];
/** It takes half a minute on an idle machine. The limit allows for a busy one. */
const TEST_MS = 1_800_000;

/** A planted mistake has to be found within this number of seeds. */
const HUNTED_SEEDS = 300;

/** Number of calls in a run of clients that call one at a time. */
const SERIES_CALLS = 200;
/** More calls than the wallet covers. */
const POOR_CALLS = 30;

/** Number of runs with a time without heartbeat processing, and of runs with two limit stores. */
const SILENCES = 60;
const FAILOVERS = 30;
/** Number of runs where an edge is gone when the limit store is lost or comes back. */
const GONE = 40;
/** Number of runs where the limit store is restored from its file. */
const KEPT = 40;
/** Number of runs that come near the end of a window. */
const WINDOWS = 30;
/** Number of runs where a wallet is used up while standbys of the ledger are promoted. */
const PROMOTED = 100;
/** Number of runs where billing's database is away while calls end. */
const OUTAGES = 100;
/** Number of runs where balances reach an emptied limit store late. */
const LATE = 100;

function* seedsFrom(from: number, count: number): Generator<number> {
  for (let seed = from; seed < from + count; seed += 1) yield seed;
}

/** Plays seeds and expects no violation. @returns the totals */
async function playAll(seeds: number, make: (seed: number) => Scenario): Promise<Totals> {
  const { totals, failure } = await runSeeds(await openRedis(), seedsFrom(1, seeds), make);
  expect(failure?.text ?? '').toBe('');
  return totals;
}

// Covers i1; i2; i3; i4; i5; i6; i7; i8
test(
  'no seed breaks a rule of the protocol',
  async () => {
    const seeds = REPLAYED === undefined ? seedsFrom(1, SEEDS) : [Number(REPLAYED)];
    const { totals, failure } = await runSeeds(await openRedis(), seeds);
    expect(failure?.text ?? '').toBe('');
    if (REPLAYED !== undefined || SEEDS < 500) return;
    // The faults had an effect: some calls expired.
    expect(totals.admitted).toBeGreaterThan(SEEDS);
    expect(totals.limitStoreLosses).toBeGreaterThan(SEEDS / 5);
    expect(totals.expired).toBeGreaterThan(0);
  },
  TEST_MS,
);

test.each([
  ['one client with one slot', 'alone', 10_000],
  ['at most as many clients as slots at one edge', 'together', 2_000],
] as const)(
  'an ended call does not cause a refusal: %s',
  async (_name, company, calls) => {
    const seeds = seedsFrom(1, calls / SERIES_CALLS);
    const { totals, failure } = await runSeeds(await openRedis(), seeds, (seed) =>
      makeSeries(seed, SERIES_CALLS, company),
    );
    expect(failure?.text ?? '').toBe('');
    expect(totals.calls).toBeGreaterThanOrEqual(calls);
    expect([totals.refused, totals.faults]).toEqual([0, 0]);
  },
  TEST_MS,
);

test(
  'a client is refused for lack of credits only when its charges exceed them',
  async () => {
    const poor = (seed: number) => makeSeries(seed, POOR_CALLS, 'poor');
    const { totals, failure } = await runSeeds(await openRedis(), seedsFrom(1, 60), poor);
    expect(failure?.text ?? '').toBe('');
    expect(totals.refused).toBeGreaterThan(60);
  },
  TEST_MS,
);

test(
  'running calls keep slot and hold while heartbeats are not processed',
  async () => {
    const totals = await playAll(SILENCES, makeSilence);
    expect(totals.admitted).toBeGreaterThan(2 * SILENCES);
  },
  TEST_MS,
);

test(
  'calls of a gone edge are recorded and cause no refusal after a loss',
  async () => {
    const totals = await playAll(GONE, makeGone);
    expect(totals.expired).toBe(2 * GONE);
  },
  TEST_MS,
);

test(
  'confirmed accounts match their owners after a loss of the limit store',
  async () => {
    const totals = await playAll(KEPT, makeKept);
    expect(totals.limitStoreLosses).toBe(KEPT);
    expect(totals.confirmed).toBeGreaterThan(KEPT);
  },
  TEST_MS,
);

test(
  'messages of an earlier ledger epoch do not spend a wallet twice',
  async () => {
    const totals = await playAll(PROMOTED, makePromoted);
    expect(totals.lostCommits).toBeGreaterThan(PROMOTED);
    expect(totals.admitted).toBeGreaterThan(10 * PROMOTED);
  },
  TEST_MS,
);

test(
  'a message settled in parts is acknowledged when all parts are settled',
  async () => {
    const totals = await playAll(OUTAGES, makeOutage);
    expect(totals.records).toBe(totals.admitted);
  },
  TEST_MS,
);

test(
  'late balances do not replace newer ones in an emptied limit store',
  async () => {
    const totals = await playAll(LATE, makeLate);
    expect(totals.admitted).toBeGreaterThan(10 * LATE);
  },
  TEST_MS,
);

test(
  'a USD window near its end lets one call begin that may exceed it',
  async () => {
    const totals = await playAll(WINDOWS, makeNearEnd);
    expect(totals.refused).toBeGreaterThan(WINDOWS);
  },
  TEST_MS,
);

test(
  'confirmed changes are in force while a superseded limit store answers',
  async () => {
    const totals = await playAll(FAILOVERS, makeFailover);
    expect(totals.limitStoreLosses).toBe(FAILOVERS);
  },
  TEST_MS,
);

test(
  'a seed gives the same run each time',
  async () => {
    const redis = await openRedis();
    for (const seed of [7, 21, 300]) {
      const [one, other] = [await play(makeScenario(seed), redis), await play(makeScenario(seed), redis)];
      expect(other).toEqual(one);
    }
  },
  TEST_MS,
);

test('finds a planted mistake: an admission leaves one slot too many', async () => {
  const redis = await openRedis((_script, text) =>
    text.replace('tonumber(concurrency) - slots - 1', 'tonumber(concurrency) - slots'),
  );
  const { violations } = await play(makeSeries(1, SERIES_CALLS, 'alone'), redis);
  expect(violations).toMatchObject([{ rule: 'no client is refused for its own slot' }]);
});

test.each([
  ['the wallet is not checked', 'elseif available < worst then', 'elseif false then'],
  [
    'a recovered limit store does not hold calls again',
    'if call_epochs[index] ~= heartbeat.token then',
    'if false then',
  ],
  ['rows are dropped without a record', "redis.call('HSET', account_key, 'at', int(account_now), 'lv', int(low))", ''],
])(
  'finds a planted mistake: %s',
  async (_name, from, to) => {
    let isPlanted = false;
    const redis = await openRedis((_script, text) => {
      isPlanted ||= text.includes(from);
      return text.replace(from, to);
    });
    expect(isPlanted).toBe(true);
    let found = 0;
    for (const seed of seedsFrom(1, HUNTED_SEEDS)) {
      found = (await play(makeScenario(seed), redis)).violations.length;
      if (found > 0) break;
    }
    expect(found).toBeGreaterThan(0);
  },
  TEST_MS,
);
