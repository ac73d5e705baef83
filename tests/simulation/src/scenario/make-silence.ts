import { Random } from '../time/random.js';
import { PLAIN_CALL, PLAIN_SCENARIO, UNREACHED_LIMIT } from './plain-scenario.js';
import type { AccountSeed, CallAct, Fault, Scenario } from './scenario.js';

/** Time of the first calls. All buckets are open by then. */
const FIRST_CALL_MS = 3_000;
const CALLS_WITHIN_MS = 5_000;
/** Longer than the first lease, a lease after a heartbeat, the expiry, and much longer. */
const SILENCES_MS = [11_000, 16_000, 45_000, 70_000];
/** Time of further calls, until leases and due times of the silence are over. */
const AFTERWARDS_MS = 15_000;
/** Shorter than an edge waits for the next chunk of a stream. */
const GAPS_MS = [900, 9_000, 14_000];

/** Ways to stop the processing of all messages or only of heartbeats. */
const WAYS = ['partition', 'freeze', 'bus', 'away', 'heartbeats'] as const;

/**
 * Makes long calls and stops the processing of heartbeats for a time: the limit store is
 * unreachable or paused, the bus is away, all replicas of admission are away, or none receives a
 * heartbeat. Nothing else goes wrong, so no running call may lose its slot (docs/protocol.md#r9).
 */
export function makeSilence(seed: number): Scenario {
  const random = new Random(seed);
  const at = FIRST_CALL_MS + random.between(100, 2 * CALLS_WITHIN_MS);
  const ms = random.pick(SILENCES_MS);
  const accounts = Array.from({ length: 2 }, (_unused, index): AccountSeed => {
    return { name: `acc-${index}`, walletNanoUsd: UNREACHED_LIMIT, plan: 0, capNanoUsd: null };
  });
  const before = Array.from({ length: 6 }, () => callOf(random, FIRST_CALL_MS + random.below(CALLS_WITHIN_MS)));
  const after = Array.from({ length: 6 }, () => callOf(random, at + ms + random.below(AFTERWARDS_MS)));
  return {
    ...PLAIN_SCENARIO,
    seed,
    accounts,
    plans: [{ concurrency: 3, windowUsdNanoUsd: UNREACHED_LIMIT, windowRequests: UNREACHED_LIMIT }],
    acts: [...before, ...after].sort((one, other) => one.at - other.at),
    faults: [silence(random, at, ms)],
    quietAt: at + ms + AFTERWARDS_MS,
  };
}

function silence(random: Random, at: number, ms: number): Fault {
  switch (random.pick(WAYS)) {
    case 'partition':
      return { kind: 'cut', host: 'redis', at, ms };
    case 'freeze':
      return { kind: 'hang', host: 'redis', at, ms };
    case 'bus':
      return { kind: 'cut', host: 'bus', at, ms };
    case 'away':
      return { kind: 'away', at, ms };
    case 'heartbeats':
      return { kind: 'cut', host: 'heartbeats', at, ms };
  }
}

function callOf(random: Random, at: number): CallAct {
  const usage = { input: random.between(1, 9), output: random.below(50) };
  const answer = { kind: 'answer' as const, delayMs: 30, gapMs: random.pick(GAPS_MS), chunks: 8, usage };
  return {
    ...PLAIN_CALL,
    at,
    account: random.below(2),
    key: random.below(2),
    edge: random.below(2),
    provider: [{ ...answer, breaksAfter: null }],
  };
}
