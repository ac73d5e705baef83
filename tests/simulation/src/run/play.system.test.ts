import { expect, test } from '@jest/globals';
import { LuaRedis } from '../limit-store/lua-redis.js';
import { RUN_KINDS, type RunKind } from '../scenario/run-kinds.js';
import { play } from './play.js';
import { describeFailure, runSeeds, type Totals } from './run-seeds.js';

/** It takes half a minute on an idle machine. The limit allows for a busy one. */
const TEST_MS = 1_800_000;
/** A planted mistake has to be found within this number of seeds. */
const HUNTED_SEEDS = 300;

function seedsTo(count: number): number[] {
  return Array.from({ length: count }, (_unused, index) => index + 1);
}

/** Plays seeds and expects no violation. @returns the totals */
async function playAll(kind: RunKind, seeds: number): Promise<Totals> {
  const [redis, make] = [await LuaRedis.open(), RUN_KINDS[kind]];
  const { totals, failure } = await runSeeds(redis, seedsTo(seeds), make);
  expect(failure === null ? '' : await describeFailure(redis, kind, make, failure)).toBe('');
  return totals;
}

// Covers i1; i2; i3; i4; i5; i6; i7; i8
test(
  'no seed breaks a rule of the protocol',
  async () => {
    const seeds = 500;
    const totals = await playAll('ordinary', seeds);
    // The faults had an effect: some calls expired.
    expect(totals.admitted).toBeGreaterThan(seeds);
    expect(totals.limitStoreLosses).toBeGreaterThan(seeds / 5);
    expect(totals.expired).toBeGreaterThan(0);
  },
  TEST_MS,
);

test.each([
  ['one client with one slot', 'alone', 10_000],
  ['at most as many clients as slots at one edge', 'together', 2_000],
] as const)(
  'an ended call does not cause a refusal: %s',
  async (_name, kind, calls) => {
    const totals = await playAll(kind, calls / 100);
    expect(totals.calls).toBeGreaterThanOrEqual(calls);
    expect([totals.refused, totals.faults]).toEqual([0, 0]);
  },
  TEST_MS,
);

/** The kind and number of runs, and what shows that they had the effect that their kind is for. */
test.each<[string, RunKind, number, (totals: Totals, runs: number) => void]>([
  [
    'a client is refused for lack of credits only when its charges exceed them',
    'poor',
    60,
    ({ refused }, runs) => expect(refused).toBeGreaterThan(runs),
  ],
  [
    'running calls keep slot and hold while heartbeats are not processed',
    'silence',
    60,
    ({ admitted }, runs) => expect(admitted).toBeGreaterThan(2 * runs),
  ],
  [
    'calls of a gone edge are recorded and cause no refusal after a loss',
    'gone',
    40,
    ({ expired }, runs) => expect(expired).toBe(2 * runs),
  ],
  [
    'confirmed accounts match their owners after a loss of the limit store',
    'kept',
    40,
    ({ limitStoreLosses, confirmed }, runs) => {
      expect(limitStoreLosses).toBe(runs);
      expect(confirmed).toBeGreaterThan(runs);
    },
  ],
  [
    'messages of an earlier ledger epoch do not spend a wallet twice',
    'promoted',
    100,
    ({ lostCommits, admitted }, runs) => {
      expect(lostCommits).toBeGreaterThan(runs);
      expect(admitted).toBeGreaterThan(10 * runs);
    },
  ],
  [
    'a message settled in parts is acknowledged when all parts are settled',
    'outage',
    100,
    ({ records, admitted }) => expect(records).toBe(admitted),
  ],
  [
    'late balances do not replace newer ones in an emptied limit store',
    'late',
    100,
    ({ admitted }, runs) => expect(admitted).toBeGreaterThan(10 * runs),
  ],
  [
    'a USD window near its end lets one call begin that may exceed it',
    'windows',
    30,
    ({ refused }, runs) => expect(refused).toBeGreaterThan(runs),
  ],
  [
    'confirmed changes are in force while a superseded limit store answers',
    'failover',
    30,
    ({ limitStoreLosses }, runs) => expect(limitStoreLosses).toBe(runs),
  ],
])('%s', async (_name, kind, runs, check) => check(await playAll(kind, runs), runs), TEST_MS);

test(
  'a seed gives the same run each time',
  async () => {
    const redis = await LuaRedis.open();
    for (const seed of [7, 21, 300]) {
      const [one, other] = [await play(RUN_KINDS.ordinary(seed), redis), await play(RUN_KINDS.ordinary(seed), redis)];
      expect(other).toEqual(one);
    }
  },
  TEST_MS,
);

test('finds a planted mistake: an admission leaves one slot too many', async () => {
  const redis = await LuaRedis.open((text) =>
    text.replace('tonumber(concurrency) - slots - 1', 'tonumber(concurrency) - slots'),
  );
  const { violations } = await play(RUN_KINDS.alone(1), redis);
  expect(violations).toMatchObject([{ rule: 'no client is refused for its own slot' }]);
});

test.each([
  ['the wallet is not checked', 'elseif available < worst then', 'elseif false then'],
  [
    'a recovered limit store does not hold calls again',
    'if call_epochs[index] ~= heartbeat.epoch then',
    'if false then',
  ],
  ['rows are dropped without a record', "redis.call('HSET', account_key, 'at', int(account_now), 'lv', int(low))", ''],
])(
  'finds a planted mistake: %s',
  async (_name, from, to) => {
    let isPlanted = false;
    const redis = await LuaRedis.open((text) => {
      isPlanted ||= text.includes(from);
      return text.replace(from, to);
    });
    expect(isPlanted).toBe(true);
    const { failure } = await runSeeds(redis, seedsTo(HUNTED_SEEDS), RUN_KINDS.ordinary);
    expect(failure).not.toBeNull();
  },
  TEST_MS,
);
