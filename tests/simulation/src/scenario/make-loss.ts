import { PLAIN_CALL, PLAIN_SCENARIO, UNREACHED_LIMIT } from './plain-scenario.js';
import type { CallAct, Scenario } from './scenario.js';

const FIRST_CALL_MS = 3_000;
/** Interval between the starts of an edge's calls. */
const APART_MS = 10;
const LOSS_MS = 8_000;
/** The recovery waits for an edge that hangs until its last heartbeat is 10 s old. */
const HANG_MS = 12_000;
const QUIET_MS = 22_000;

export interface LossSize {
  readonly admissions: number;
  readonly edges: number;
  /** Number of long calls that each edge runs when the limit store is lost. */
  readonly calls: number;
}

/**
 * Makes a run of long calls on several edges. The first edge hangs. The limit store is lost
 * meanwhile if `isLost` is set. The difference is the cost of a recovery.
 */
export function makeLoss({ admissions, edges, calls }: LossSize, isLost: boolean, seed = 1): Scenario {
  const acts = Array.from({ length: edges * calls }, (_unused, index) =>
    callOf(FIRST_CALL_MS + Math.floor(index / edges) * APART_MS, index % edges),
  );
  return {
    ...PLAIN_SCENARIO,
    seed,
    accounts: [{ name: 'acc-alpha', walletNanoUsd: UNREACHED_LIMIT, plan: 0, capNanoUsd: null }],
    plans: [{ concurrency: 1_000_000, windowUsdNanoUsd: UNREACHED_LIMIT, windowRequests: UNREACHED_LIMIT }],
    acts,
    faults: [
      { kind: 'hang', host: 'edge0', at: LOSS_MS - 1, ms: HANG_MS },
      ...(isLost ? [{ kind: 'limit-store' as const, how: 'flush' as const, at: LOSS_MS, ms: 0 }] : []),
    ],
    quietAt: QUIET_MS,
    hosts: { admissions, edges },
  };
}

function callOf(at: number, edge: number): CallAct {
  const usage = { input: 1, output: 10 };
  return {
    ...PLAIN_CALL,
    at,
    edge,
    provider: [{ kind: 'answer', delayMs: 30, gapMs: 5_000, chunks: 5, usage, breaksAfter: null }],
  };
}
