import { EXPIRY_MS } from '../hosts/admission-host.js';
import { Random } from '../time/random.js';
import { PLAIN_CALL, PLAIN_SCENARIO, UNREACHED_LIMIT } from './plain-scenario.js';
import type { CallAct, Fault, Scenario } from './scenario.js';

/** All buckets are open by this time. */
const FIRST_CALL_MS = 3_000;
const KILLED_MS = 8_000;
/** Time after which an edge without a heartbeat is gone (docs/protocol.md#r12). */
export const GONE_MS = EXPIRY_MS + 60_000;
/** The longest time between the end of an edge and the loss of the limit store. */
const LATER_MS_MAX = 15_000;
const CALLS_WITHIN_MS = 9_000;
const SLOTS = 2;

/**
 * Kills an edge that runs as many calls as its account has slots. The limit store is lost when the
 * edge is long gone, or it is lost at once and comes back then. Calls at another edge follow.
 */
export function makeGone(seed: number): Scenario {
  const random = new Random(seed);
  const backAt = KILLED_MS + GONE_MS + 3_000 + random.below(LATER_MS_MAX);
  const before = Array.from({ length: SLOTS }, () => callOf(FIRST_CALL_MS + random.below(1_000), 0, 20_000));
  const after = Array.from({ length: 12 }, (_unused, index) =>
    callOf(backAt + (index * CALLS_WITHIN_MS) / 12 + random.below(300), 1, 50),
  );
  return {
    ...PLAIN_SCENARIO,
    seed,
    accounts: [{ name: 'acc-alpha', walletNanoUsd: UNREACHED_LIMIT, plan: 0, capNanoUsd: null }],
    plans: [{ concurrency: SLOTS, windowUsdNanoUsd: UNREACHED_LIMIT, windowRequests: UNREACHED_LIMIT }],
    acts: [...before, ...after],
    faults: [{ kind: 'edge-killed', host: 'edge0', at: KILLED_MS, ms: 500 }, lossAt(random, backAt)],
    quietAt: backAt + CALLS_WITHIN_MS + 1_000,
  };
}

function lossAt(random: Random, backAt: number): Fault {
  if (random.chance(0.5)) return { kind: 'limit-store', how: 'flush', at: backAt, ms: 0 };
  const at = KILLED_MS + random.below(2_000);
  return { kind: 'limit-store', how: 'restart_empty', at, ms: backAt - at };
}

function callOf(at: number, edge: number, gapMs: number): CallAct {
  const usage = { input: 1, output: 10 };
  return {
    ...PLAIN_CALL,
    at,
    edge,
    provider: [{ kind: 'answer', delayMs: 30, gapMs, chunks: 2, usage, breaksAfter: null }],
  };
}
