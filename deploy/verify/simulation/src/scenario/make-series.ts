import { Random } from '../time/random.js';
import { PLAIN_CALL, PLAIN_SCENARIO, PLENTY } from './plain-scenario.js';
import type { CallAct, ProviderPlan, Scenario } from './scenario.js';

/** All buckets are open and everybody knows everybody. */
const FIRST_CALL_MS = 20_000;
const SLOTS_MAX = 4;
/** About what one call of a run may cost, nano-USD. */
const WORST_NANO_USD = 4_000;
/** Longer than one call takes, two tries of a source included. */
const CALL_MS = 700;

/**
 * `alone`: one client at one slot, whose calls go to any edge. `together`: at most as many clients
 * as slots, at one edge. `poor`: one client at one edge with slots enough, whose wallet soon covers
 * no second worst case.
 */
export type Company = 'alone' | 'together' | 'poor';

/**
 * Clients that call in turn and make no pause, while nothing goes wrong.
 * @param calls of the whole run
 */
export function makeSeries(seed: number, calls: number, company: Company): Scenario {
  const random = new Random(seed);
  const concurrency = company === 'alone' ? 1 : random.between(2, SLOTS_MAX);
  const clients = company === 'together' ? random.between(2, concurrency) : 1;
  const walletNanoUsd = company === 'poor' ? random.between(3, 12) * WORST_NANO_USD : PLENTY;
  const edge = random.below(2);
  const callOfSeries = (): CallAct => ({
    ...callOf(random, company === 'alone' ? random.below(2) : edge),
    // The second model is in no plan: the wallet pays.
    model: company === 'poor' ? 1 : 0,
  });
  return {
    ...PLAIN_SCENARIO,
    seed,
    accounts: [{ name: 'acc-alpha', walletNanoUsd, plan: 0, capNanoUsd: null }],
    plans: [{ concurrency, windowUsdNanoUsd: PLENTY, windowRequests: PLENTY }],
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

/** Quick and slow answers, and some errors. */
function providerPlan(random: Random): ProviderPlan {
  const delayMs = random.pick([1, 3, 30, 200]);
  if (random.chance(0.05)) return { kind: 'status', delayMs, status: random.pick([500, 400]) };
  const usage = { input: random.between(1, 9), output: random.below(50) };
  return { kind: 'answer', delayMs, gapMs: random.pick([0, 1, 20]), chunks: 2, usage, breaksAfter: null };
}
