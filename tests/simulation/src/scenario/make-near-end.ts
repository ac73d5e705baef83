import { Random } from '../time/random.js';
import { PLAIN_CALL, PLAIN_SCENARIO, UNREACHED_LIMIT } from './plain-scenario.js';
import type { CallAct, Scenario } from './scenario.js';

const FIRST_CALL_MS = 3_000;
const LENGTH_MS = 20_000;
const CALLS = 60;
/** About ten calls of a run. One call may cost more than the last 5 % of it. */
const WINDOW_NANO_USD = 100_000;

/**
 * Makes many small calls near the end of their plan's USD window, some of them at the same time,
 * with an empty wallet (docs/behaviour.md#windows).
 */
export function makeNearEnd(seed: number): Scenario {
  const random = new Random(seed);
  return {
    ...PLAIN_SCENARIO,
    seed,
    accounts: [{ name: 'acc-alpha', walletNanoUsd: 0, plan: 0, capNanoUsd: null }],
    plans: [{ concurrency: 6, windowUsdNanoUsd: WINDOW_NANO_USD, windowRequests: UNREACHED_LIMIT }],
    acts: Array.from({ length: CALLS }, () => callOf(random)).sort((one, other) => one.at - other.at),
    faults: [],
    quietAt: FIRST_CALL_MS + LENGTH_MS,
  };
}

function callOf(random: Random): CallAct {
  const usage = { input: 1, output: random.below(50) };
  return {
    ...PLAIN_CALL,
    at: FIRST_CALL_MS + random.below(LENGTH_MS),
    key: random.below(2),
    edge: random.below(2),
    streamed: random.chance(0.5),
    outputTokensMax: 200,
    provider: [{ kind: 'answer', delayMs: 200, gapMs: 300, chunks: 4, usage, breaksAfter: null }],
  };
}
