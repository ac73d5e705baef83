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
/** On a quiet machine it takes half a minute; a busy one fails nothing. */
const TEST_MS = 1_800_000;

/** Seeds that a planted mistake is looked for in. */
const HUNTED_SEEDS = 300;

/** Calls of a run of clients that call in turn. */
const SERIES_CALLS = 200;
/** More than its wallet covers. */
const POOR_CALLS = 30;

/** Runs in which nobody listens for a while, and such with two limit stores. */
const SILENCES = 60;
const FAILOVERS = 30;
/** Runs in which an edge is gone when the limit store is lost, or comes back. */
const GONE = 40;
/** Runs in which the limit store comes back from its file. */
const KEPT = 40;
/** Runs that come near the end of a window. */
const WINDOWS = 30;
/** Runs in which a wallet is used up while standbys of the ledger are promoted. */
const PROMOTED = 100;
/** Runs in which billing's database is away while calls end. */
const OUTAGES = 100;
/** Runs in which balances come late to a limit store that was emptied. */
const LATE = 100;

function* seedsFrom(from: number, count: number): Generator<number> {
  for (let seed = from; seed < from + count; seed += 1) yield seed;
}

/** No seed breaks a rule. @returns what happened in them */
async function playAll(seeds: number, make: (seed: number) => Scenario): Promise<Totals> {
  const { totals, failure } = await runSeeds(await openRedis(), seedsFrom(1, seeds), make);
  expect(failure?.text ?? '').toBe('');
  return totals;
}

// Covers i1; i2; i3; i4; i5; i6; i7; i8
test(
  'every rule of the protocol holds after every step of every seed',
  async () => {
    const seeds = REPLAYED === undefined ? seedsFrom(1, SEEDS) : [Number(REPLAYED)];
    const { totals, failure } = await runSeeds(await openRedis(), seeds);
    expect(failure?.text ?? '').toBe('');
    if (REPLAYED !== undefined || SEEDS < 500) return;
    // What goes wrong is met: calls that expire, and such that are settled after all.
    expect(totals.admitted).toBeGreaterThan(SEEDS);
    expect(totals.limitStoreLosses).toBeGreaterThan(SEEDS / 5);
    expect(totals.expired).toBeGreaterThan(0);
  },
  TEST_MS,
);

test.each([
  ['calls one after the other at one slot', 'alone', 10_000],
  ['calls of no more clients than slots, at one edge', 'together', 2_000],
] as const)(
  '%s meet no refusal of their own making',
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
  'a client that calls in turn is refused for want of money when what it was charged is too much, and not before',
  async () => {
    const poor = (seed: number) => makeSeries(seed, POOR_CALLS, 'poor');
    const { totals, failure } = await runSeeds(await openRedis(), seedsFrom(1, 60), poor);
    expect(failure?.text ?? '').toBe('');
    expect(totals.refused).toBeGreaterThan(60);
  },
  TEST_MS,
);

test(
  'while nobody listens no call that runs loses its slot or its hold',
  async () => {
    const totals = await playAll(SILENCES, makeSilence);
    expect(totals.admitted).toBeGreaterThan(2 * SILENCES);
  },
  TEST_MS,
);

test(
  'what an edge ran that is gone refuses nobody after a loss of the limit store, and is recorded',
  async () => {
    const totals = await playAll(GONE, makeGone);
    expect(totals.expired).toBe(2 * GONE);
  },
  TEST_MS,
);

test(
  'what is confirmed after a loss of the limit store is what its owners have',
  async () => {
    const totals = await playAll(KEPT, makeKept);
    expect(totals.limitStoreLosses).toBe(KEPT);
    expect(totals.confirmed).toBeGreaterThan(KEPT);
  },
  TEST_MS,
);

test(
  'what an earlier epoch of the ledger said spends no wallet a second time',
  async () => {
    const totals = await playAll(PROMOTED, makePromoted);
    expect(totals.lostCommits).toBeGreaterThan(PROMOTED);
    expect(totals.admitted).toBeGreaterThan(10 * PROMOTED);
  },
  TEST_MS,
);

test(
  'what is settled in parts while the database comes back is acknowledged when all of it is',
  async () => {
    const totals = await playAll(OUTAGES, makeOutage);
    expect(totals.records).toBe(totals.admitted);
  },
  TEST_MS,
);

test(
  'what comes late to a limit store that was emptied replaces nothing that was settled since',
  async () => {
    const totals = await playAll(LATE, makeLate);
    expect(totals.admitted).toBeGreaterThan(10 * LATE);
  },
  TEST_MS,
);

test(
  'near the end of a USD window one call begins that may pass it',
  async () => {
    const totals = await playAll(WINDOWS, makeNearEnd);
    expect(totals.refused).toBeGreaterThan(WINDOWS);
  },
  TEST_MS,
);

test(
  'what is told to be in force is in force where calls are admitted, though a superseded limit store answers too',
  async () => {
    const totals = await playAll(FAILOVERS, makeFailover);
    expect(totals.limitStoreLosses).toBe(FAILOVERS);
  },
  TEST_MS,
);

test(
  'a seed is one run, however often it is played',
  async () => {
    const redis = await openRedis();
    for (const seed of [7, 21, 300]) {
      const [one, other] = [await play(makeScenario(seed), redis), await play(makeScenario(seed), redis)];
      expect(other).toEqual(one);
    }
  },
  TEST_MS,
);

test('a planted mistake is found: an admission leaves one slot too many', async () => {
  const redis = await openRedis((_script, text) =>
    text.replace('tonumber(concurrency) - slots - 1', 'tonumber(concurrency) - slots'),
  );
  const { violations } = await play(makeSeries(1, SERIES_CALLS, 'alone'), redis);
  expect(violations).toMatchObject([{ rule: 'no client meets its own slot' }]);
});

test.each([
  ['the wallet is not asked', 'elseif available < worst then', 'elseif false then'],
  ['a recovered limit store takes no call again', 'if call_epochs[index] ~= beat.token then', 'if false then'],
  [
    'rows are let go and nothing is noted',
    "redis.call('HSET', account_key, 'at', int(account_now), 'lv', int(low))",
    '',
  ],
])(
  'a planted mistake is found: %s',
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
