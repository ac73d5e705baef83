import { Random } from '../time/random.js';
import type { CallAct, Scenario } from './scenario.js';

const START_MS = Date.parse('2026-11-18T12:00:00.000Z');
const FIRST_CALL_MS = 3_000;
const LENGTH_MS = 20_000;
const CALLS = 60;
const PLENTY = 1_000_000_000_000;
/** Some ten calls of a run; one may cost more than the last 5 % of it, and mostly costs less. */
const WINDOW_NANO_USD = 100_000;

/**
 * Many small calls that come near the end of their plan's USD window, some of them at once, without
 * money in the wallet (docs/behaviour.md#windows).
 */
export function makeNearEnd(seed: number): Scenario {
  const random = new Random(seed);
  return {
    seed,
    startMs: START_MS,
    accounts: [{ name: 'acc-alpha', walletNanoUsd: 0, plan: 0, capNanoUsd: null }],
    plans: [{ concurrency: 6, windowUsdNanoUsd: WINDOW_NANO_USD, windowRequests: PLENTY }],
    sharedSubjects: false,
    hasOldEdge: false,
    packedFrom: 0,
    skewsMs: {},
    acts: Array.from({ length: CALLS }, () => callOf(random)).sort((one, other) => one.at - other.at),
    faults: [],
    quietAt: FIRST_CALL_MS + LENGTH_MS,
  };
}

function callOf(random: Random): CallAct {
  const usage = { input: 1, output: random.below(50) };
  return {
    kind: 'call',
    at: FIRST_CALL_MS + random.below(LENGTH_MS),
    account: 0,
    key: random.below(2),
    edge: random.below(2),
    model: 0,
    streamed: random.chance(0.5),
    outputTokensMax: 200,
    provider: [{ kind: 'answer', delayMs: 200, gapMs: 300, chunks: 4, usage, breaksAfter: null }],
    leavesAfterMs: null,
  };
}
