import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sumOfMetric, until } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import { testSeed } from '@gateway/testkit/seed';
import { type OwnSystem, startOwnSystem } from '../../test/own-system.js';
import { readUsage } from './judge-limit.js';
import { LIMIT_CASES, limitCalled } from './limit-cases.js';
import { DURATIONS, IN_FLIGHT, REPLICAS, startLimitVerification } from './limits.js';
import type { LimitVerification } from './limits.js';

/**
 * Requests per limit. `npm run verify:faults -- limits` sends ten times as many and kills replicas
 * meanwhile.
 */
const CALLS = 1_000;
const FIT = 150;
const CALLS_UNDER_KILLS = 3_000;
const SEED = testSeed();

let system: OwnSystem;
let verification: LimitVerification;
beforeAll(async () => {
  system = await startOwnSystem('limits', DURATIONS, REPLICAS);
  verification = await startLimitVerification(system);
}, 60_000);
afterAll(async () => {
  await verification?.end();
  await system?.stop();
}, 60_000);

// Covers i6; i7
test.each(LIMIT_CASES)(
  `$name: ${CALLS} calls, ${IN_FLIGHT} at a time, keep the limit ($promise)`,
  async (limit) => {
    const figures = await verification.verify(limit, CALLS, FIT);
    expect(figures.differences).toEqual([]);
  },
  60_000,
);

// One message has the calls of an event-loop tick, so a single limit may not reach all replicas.
test('every replica of admission decided calls of these limits', async () => {
  const urls = system.local.running().adminUrls['admission'] ?? [];
  const metrics = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()));
  const decisions = metrics.map((text) => sumOfMetric(text, 'gateway_admission_decisions_total') ?? 0);
  expect(decisions).toHaveLength(REPLICAS.admission);
  expect(Math.min(...decisions)).toBeGreaterThan(0);
});

// Covers a replica of admission is killed or hangs
test(`${CALLS_UNDER_KILLS} calls use a wallet exactly under kills (seed ${SEED})`, async () => {
  const figures = await verification.verify(limitCalled('wallet'), CALLS_UNDER_KILLS, FIT, new SeededRandom(SEED).next);
  expect(figures.differences).toEqual([]);
  expect(figures.kills).toBeGreaterThan(0);
  console.info(`${figures.kills} kills, ${figures.faults} responses with 500`);
}, 60_000);

test('a USD window is exceeded by at most the number of slots while billing hangs', async () => {
  const limit = limitCalled('weekly in USD');
  const fit = 10;
  const arranged = await verification.arrange(limit, fit);
  await verification.send(arranged, 1);
  await verification.limitStoreIsEmpty(arranged);
  const [billing] = system.local.children('billing');
  billing?.kill('SIGSTOP');
  try {
    const seen = await verification.send(arranged, fit + arranged.slots + 20);
    const admitted = 1 + seen.filter(({ answer }) => answer === '200').length;
    expect(admitted).toBeGreaterThanOrEqual(fit);
    expect(admitted).toBeLessThanOrEqual(fit + arranged.slots);
  } finally {
    billing?.kill('SIGCONT');
  }
  await verification.limitStoreIsEmpty(arranged);
  const [edgeUrl = ''] = system.local.running().edgeUrls;
  await until('the window shows as used up', async () => {
    const { windows } = await readUsage(edgeUrl, arranged.secret);
    return windows[0]?.percentUsed === 100;
  });
}, 60_000);
