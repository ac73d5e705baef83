import { Random } from '../time/random.js';
import { PLAIN_CALL, PLAIN_SCENARIO, UNREACHED_LIMIT } from './plain-scenario.js';
import type { CallAct, ProviderPlan, Scenario } from './scenario.js';

/** By this time all buckets are open and all processes know each other. */
const FIRST_CALL_MS = 20_000;
const SLOTS_MAX = 4;
/** Approximate worst case of one call, nano-USD. */
const WORST_NANO_USD = 4_000;
/** Longer than one call takes, including two attempts. */
const CALL_MS = 700;

/**
 * `alone`: one client with one slot, whose calls go to any edge. `together`: at most as many
 * clients as slots, at one edge. `poor`: one client at one edge with enough slots, whose wallet
 * soon does not cover a second worst case.
 */
export type SeriesKind = 'alone' | 'together' | 'poor';

/**
 * Makes clients that call one request after the other without a pause, while nothing goes wrong.
 * @param calls total number of calls of the run
 */
export function makeSeries(seed: number, calls: number, company: SeriesKind): Scenario {
  const random = new Random(seed);
  const concurrency = company === 'alone' ? 1 : random.between(2, SLOTS_MAX);
  const clients = company === 'together' ? random.between(2, concurrency) : 1;
  const walletNanoUsd = company === 'poor' ? random.between(3, 12) * WORST_NANO_USD : UNREACHED_LIMIT;
  const edge = random.below(2);
  const callOfSeries = (): CallAct => ({
    ...callOf(random, company === 'alone' ? random.below(2) : edge),
    // The second model is in no plan, so the wallet pays.
    model: company === 'poor' ? 1 : 0,
  });
  return {
    ...PLAIN_SCENARIO,
    seed,
    accounts: [{ name: 'acc-alpha', walletNanoUsd, plan: 0, capNanoUsd: null }],
    plans: [{ concurrency, windowUsdNanoUsd: UNREACHED_LIMIT, windowRequests: UNREACHED_LIMIT }],
    acts: Array.from({ length: clients }, () => ({
      kind: 'series' as const,
      at: FIRST_CALL_MS,
      calls: Array.from({ length: Math.ceil(calls / clients) }, callOfSeries),
    })),
    faults: [],
    quietAt: FIRST_CALL_MS + calls * CALL_MS,
  };
}

function callOf(random: Random, edge: number): CallAct {
  return {
    ...PLAIN_CALL,
    at: 0,
    key: random.below(2),
    edge,
    streamed: random.chance(0.5),
    provider: [providerPlan(random), providerPlan(random)],
  };
}

/** Returns fast and slow responses, and some errors. */
function providerPlan(random: Random): ProviderPlan {
  const delayMs = random.pick([1, 3, 30, 200]);
  if (random.chance(0.05)) return { kind: 'status', delayMs, status: random.pick([500, 400]) };
  const usage = { input: random.between(1, 9), output: random.below(50) };
  return { kind: 'answer', delayMs, gapMs: random.pick([0, 1, 20]), chunks: 2, usage, breaksAfter: null };
}
