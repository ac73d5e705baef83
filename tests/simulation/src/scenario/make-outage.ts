import { Random } from '../time/random.js';
import { PLAIN_CALL, PLAIN_SCENARIO, UNREACHED_LIMIT } from './plain-scenario.js';
import type { AccountSeed, CallAct, Fault, Scenario } from './scenario.js';

const ACCOUNTS = 2;
/** Accounts are loaded by this time. */
const OUTAGE_AT_MS = 3_000;
/** During these outages messages wait, or are delivered again once or more. */
const OUTAGES_MS = [700, 11_000, 24_000, 45_000];
const BURST_AFTER_MS = 5_000;
const COMMITS_MAX = 14;
const DOWN_MS = 700;
/** Time to settle everything: longer than a batch's attempts and the wait after them. */
const AFTERWARDS_MS = 12_000;
/** Calls that end together, so that one chunk has many transactions. */
const BURST_CALLS = 16;
const BURST_WITHIN_MS = 200;

/**
 * Makes billing's database unavailable while many calls end at once, and kills one billing replica.
 * Messages are delivered again, and none may be acknowledged before all of it is settled
 * (docs/protocol.md#r7).
 */
export function makeOutage(seed: number): Scenario {
  const random = new Random(seed);
  const accounts = Array.from({ length: ACCOUNTS }, (_unused, index): AccountSeed => {
    return { name: `acc-${index}`, walletNanoUsd: UNREACHED_LIMIT, plan: null, capNanoUsd: null };
  });
  const first = accounts.map((_account, account) => callOf(random, random.below(OUTAGE_AT_MS / 2), account));
  const ms = random.pick(OUTAGES_MS);
  const burstAt = OUTAGE_AT_MS + random.below(Math.min(ms, BURST_AFTER_MS));
  const burst = Array.from({ length: BURST_CALLS }, () =>
    callOf(random, burstAt + random.below(BURST_WITHIN_MS), random.below(ACCOUNTS)),
  );
  return {
    ...PLAIN_SCENARIO,
    seed,
    accounts,
    plans: [],
    acts: [...first, ...burst].sort((one, other) => one.at - other.at),
    faults: [{ kind: 'cut', host: 'postgres', at: OUTAGE_AT_MS, ms }, killed(random)],
    quietAt: OUTAGE_AT_MS + ms + AFTERWARDS_MS,
  };
}

/** Kills a billing replica, usually while it settles the accumulated events. */
function killed(random: Random): Fault {
  const step = random.pick(['commits', 'committed'] as const);
  return { kind: 'step-killed', step, n: random.between(1, COMMITS_MAX), afterMs: 0, ms: DOWN_MS };
}

function callOf(random: Random, at: number, account: number): CallAct {
  const usage = { input: random.between(1, 9), output: random.below(50) };
  const answer = { kind: 'answer' as const, delayMs: 30, gapMs: random.pick([1, 20]), chunks: 3, usage };
  return { ...PLAIN_CALL, at, account, edge: random.below(2), provider: [{ ...answer, breaksAfter: null }] };
}
