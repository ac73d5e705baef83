import type { CallAct, Scenario } from './scenario.js';

const START_MS = Date.parse('2026-11-18T12:00:00.000Z');
const FIRST_CALL_MS = 3_000;
/** Calls of an edge begin so far apart. */
const APART_MS = 10;
const LOSS_MS = 8_000;
/** The recovery waits for an edge that hangs: until its last heartbeat is 10 s old. */
const HANG_MS = 12_000;
const QUIET_MS = 22_000;
const PLENTY = 1_000_000_000_000;

export interface LossSize {
  readonly admissions: number;
  readonly edges: number;
  /** Long calls that each edge runs when the limit store is lost. */
  readonly calls: number;
}

/**
 * Long calls on so many edges, of which the first hangs, and a limit store that is lost meanwhile,
 * or is not: what a recovery costs is the difference.
 */
export function makeLoss({ admissions, edges, calls }: LossSize, isLost: boolean): Scenario {
  const acts = Array.from({ length: edges * calls }, (_unused, index) =>
    callOf(FIRST_CALL_MS + Math.floor(index / edges) * APART_MS, index % edges),
  );
  return {
    seed: 1,
    startMs: START_MS,
    accounts: [{ name: 'acc-alpha', walletNanoUsd: PLENTY, plan: 0, capNanoUsd: null }],
    plans: [{ concurrency: 1_000_000, windowUsdNanoUsd: PLENTY, windowRequests: PLENTY }],
    sharedSubjects: false,
    hasOldEdge: false,
    packedFrom: 0,
    skewsMs: {},
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
    kind: 'call',
    at,
    account: 0,
    key: 0,
    edge,
    model: 0,
    streamed: true,
    outputTokensMax: 50,
    provider: [{ kind: 'answer', delayMs: 30, gapMs: 5_000, chunks: 5, usage, breaksAfter: null }],
    leavesAfterMs: null,
  };
}
