import { Random } from '../time/random.js';
import { PLAIN_CALL, PLAIN_SCENARIO, UNREACHED_LIMIT } from './plain-scenario.js';
import type { CallAct, Scenario } from './scenario.js';

/** All buckets are open by this time. */
const FIRST_CALL_MS = 3_000;
const LOSS_AT_MS = 4_500;
const CALLS_BEFORE = 16;
const CALLS_AFTER = 3;
const AFTER_WITHIN_MS = 2_000;
const HANGS_BEFORE_MS = 700;
/** The replica continues after the loss, before or after the account is loaded again. */
const HANGS_MS_MAX = 3_000;

/**
 * Pauses a replica of admission that has received balances of a key. Meanwhile the limit store is
 * emptied, and calls of another key load the account again. That load does not name the balances,
 * and late ones must not count (docs/protocol.md#r11).
 */
export function makeLate(seed: number): Scenario {
  const random = new Random(seed);
  const before = Array.from({ length: CALLS_BEFORE }, () =>
    callOf(random, random.between(FIRST_CALL_MS, LOSS_AT_MS), 0),
  );
  const after = Array.from({ length: CALLS_AFTER }, () =>
    callOf(random, LOSS_AT_MS + random.below(AFTER_WITHIN_MS), 1),
  );
  const hangsAt = LOSS_AT_MS - random.below(HANGS_BEFORE_MS);
  const ms = random.between(LOSS_AT_MS - hangsAt, HANGS_MS_MAX);
  return {
    ...PLAIN_SCENARIO,
    seed,
    accounts: [{ name: 'acc-alpha', walletNanoUsd: UNREACHED_LIMIT, plan: null, capNanoUsd: UNREACHED_LIMIT }],
    plans: [],
    acts: [...before, ...after].sort((one, other) => one.at - other.at),
    faults: [
      { kind: 'hang', host: 'admission0', at: hangsAt, ms },
      { kind: 'limit-store', how: 'flush', at: LOSS_AT_MS, ms: 0 },
    ],
    quietAt: LOSS_AT_MS + AFTER_WITHIN_MS,
  };
}

function callOf(random: Random, at: number, key: number): CallAct {
  const usage = { input: 2, output: random.between(10, 40) };
  return {
    ...PLAIN_CALL,
    at,
    key,
    edge: random.below(2),
    provider: [{ kind: 'answer', delayMs: 3, gapMs: 1, chunks: 2, usage, breaksAfter: null }],
  };
}
