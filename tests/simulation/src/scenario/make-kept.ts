import { Random } from '../time/random.js';
import { PLAIN_CALL, PLAIN_SCENARIO, UNREACHED_LIMIT } from './plain-scenario.js';
import type { Act, CallAct, Fault, Scenario } from './scenario.js';

/** Time of each account's first calls, so that the server's files contain the accounts. */
const FIRST_CALLS_MS = 3_000;
/** The server's last file is written before this. Later changes are not in it. */
const FILED_MS = 9_100;
const LOSS_MS = 11_500;
/** By this time most buckets are open again and accounts are confirmed. */
const AFTERWARDS_MS = 14_000;
const LENGTH_MS = 24_000;
const ACCOUNTS = 3;
const UNIT_NANO_USD = 10_000;

/**
 * Restores the limit store from its file, or promotes a copy. Some accounts have not been used
 * since, and some have changed or change in the meantime, while billing may be behind. Confirmed
 * accounts must match their owners (docs/protocol.md#r12).
 */
export function makeKept(seed: number): Scenario {
  const random = new Random(seed);
  const first = Array.from({ length: 2 * ACCOUNTS }, (_unused, index) =>
    callOf(random, index % ACCOUNTS, FIRST_CALLS_MS + random.below(2_000)),
  );
  const changes = Array.from({ length: random.below(4) }, () => changeOf(random, random.between(FILED_MS, LOSS_MS)));
  const meanwhile = Array.from({ length: random.below(2) }, () =>
    changeOf(random, random.between(LOSS_MS, AFTERWARDS_MS)),
  );
  const after = Array.from({ length: 10 }, () =>
    callOf(random, random.below(ACCOUNTS), random.between(AFTERWARDS_MS, LENGTH_MS - 1)),
  );
  return {
    ...PLAIN_SCENARIO,
    seed,
    accounts: Array.from({ length: ACCOUNTS }, (_unused, index) => ({
      name: `acc-${index}`,
      walletNanoUsd: 30 * UNIT_NANO_USD,
      plan: index === 0 ? 0 : null,
      capNanoUsd: index === 1 ? 20 * UNIT_NANO_USD : null,
    })),
    plans: [{ concurrency: 5, windowUsdNanoUsd: UNREACHED_LIMIT, windowRequests: UNREACHED_LIMIT }],
    acts: [...first, ...changes, ...meanwhile, ...after].sort((one, other) => one.at - other.at),
    faults: faultsOf(random),
    quietAt: LENGTH_MS,
  };
}

function faultsOf(random: Random): Fault[] {
  const faults: Fault[] = [
    random.chance(0.6)
      ? { kind: 'limit-store', how: 'restart_old', at: LOSS_MS, ms: random.pick([10, 300]) }
      : { kind: 'failover', how: random.pick(['as_it_is', 'late'] as const), at: LOSS_MS, ms: random.pick([1, 2_000]) },
  ];
  if (random.chance(0.4)) {
    const [at, ms] = [LOSS_MS - random.below(1_500), random.between(1_000, 5_000)];
    for (const host of ['billing0', 'billing1']) faults.push({ kind: 'hang', host, at, ms });
  }
  const messages = random.pick([0, 0, 20]);
  for (let count = 0; count < messages; count += 1) {
    const how = random.pick(['drop', 'delay', 'double'] as const);
    faults.push({ kind: 'message', n: random.between(1, 2_000), how, ms: how === 'drop' ? 0 : random.below(4_000) });
  }
  return faults;
}

function changeOf(random: Random, at: number): Act {
  const account = random.below(ACCOUNTS);
  switch (random.below(5)) {
    case 0:
      return { kind: 'wallet', at, account, amountNanoUsd: random.pick([-4, 5]) * UNIT_NANO_USD };
    case 1:
      return { kind: 'state', at, account, state: 'suspended' };
    case 2:
      return { kind: 'rotate', at, account, key: random.below(2) };
    case 3:
      return { kind: 'terms', at, account, plan: random.chance(0.5) ? 0 : null };
    default:
      return callOf(random, account, at);
  }
}

function callOf(random: Random, account: number, at: number): CallAct {
  const usage = { input: random.between(1, 9), output: random.below(50) };
  return {
    ...PLAIN_CALL,
    at,
    account,
    key: random.below(2),
    edge: random.below(2),
    model: random.below(2),
    provider: [{ kind: 'answer', delayMs: 30, gapMs: random.pick([20, 400]), chunks: 3, usage, breaksAfter: null }],
  };
}
