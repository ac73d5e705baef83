import { Random } from '../time/random.js';
import { PLAIN_CALL, PLAIN_SCENARIO, UNREACHED_LIMIT } from './plain-scenario.js';
import type { Act, Fault, Scenario } from './scenario.js';

/** Each account has its own bucket. */
const ACCOUNTS = ['acc-alpha', 'acc-beta', 'acc-gamma'];
const FAILOVER_MS = 4_000;
/** Longest outage of the bus, during which replicas cannot query each other about new epochs. */
const AWAY_MS_MAX = 6_000;
/** Skews of the clocks that set epochs. */
const SKEWS_MS_MAX = [30, 1_000];
/** Time within which the other replica has not found or reported the promoted copy. */
const AT_ONCE_MS = 300;
/** Time without a replica. The limit store is emptied in it. */
const EMPTIED_MS = 500;
/** Skew that makes a clock's epochs later than the next epochs of another clock. */
const FAR_MS = 30_000;
/** By this time the promoted copy is open and has loaded the account. */
const LOADED_MS = 10_000;
const LENGTH_MS = 40_000;
/** About the cost of one call, and the unit of wallet entries. Nano-USD. */
const UNIT_NANO_USD = 10_000;

/**
 * Promotes a copy of the limit store while one replica of admission continues with the superseded
 * one. Credits and chargebacks are posted and clients call all the time. A command's change must be
 * in force where calls are admitted (docs/protocol.md#r10).
 * In some runs that replica connects to the superseded store again after it has dropped it, and in
 * some the bus is away for a while. In others the superseded store loses all its data while the
 * other one begins: it may then get the later epochs, and all replicas have to use the other one
 * when it ends. The last kind has no failover: the limit store is emptied while no replica runs
 * that knows its epochs.
 */
export function makeFailover(seed: number): Scenario {
  const random = new Random(seed);
  const anyTime = (): number => random.between(LOADED_MS, LENGTH_MS - 1);
  const calls = Array.from({ length: 60 }, () => callOf(random, random.below(LENGTH_MS)));
  const entries = Array.from({ length: 6 }, (): Act => {
    const amountNanoUsd = random.pick([-4, -2, 3]) * UNIT_NANO_USD;
    return { kind: 'wallet', at: anyTime(), account: random.below(ACCOUNTS.length), amountNanoUsd };
  });
  const failover = { kind: 'failover', how: random.pick(['as_it_is', 'late'] as const), at: FAILOVER_MS } as const;
  const misleading = { ...failover, ms: LENGTH_MS / 2, misleads: true };
  const away = {
    kind: 'cut',
    at: FAILOVER_MS + random.between(-1_000, LOADED_MS),
    ms: random.between(1_000, AWAY_MS_MAX),
  } as const;
  const kinds: readonly (readonly Fault[])[] = [
    [{ ...failover, ms: 2 * LENGTH_MS }],
    [misleading],
    [{ ...failover, ms: random.between(1_000, LOADED_MS), forgetsAfterMs: random.below(AT_ONCE_MS) }],
    [misleading, { ...away, host: 'bus' }],
    [
      { ...failover, ms: LENGTH_MS / 2 },
      { ...away, host: 'admission0' },
      { ...away, host: 'edge0' },
    ],
    [
      { kind: 'away', at: FAILOVER_MS, ms: EMPTIED_MS },
      { kind: 'limit-store', how: 'flush', at: FAILOVER_MS + random.below(EMPTIED_MS), ms: 0 },
    ],
  ];
  const isEmptied = seed % kinds.length === kinds.length - 1;
  const skewMsMax = isEmptied ? FAR_MS : random.pick(SKEWS_MS_MAX);
  const callsThen = Array.from({ length: 30 }, () => callOf(random, FAILOVER_MS + random.below(AT_ONCE_MS)));
  return {
    ...PLAIN_SCENARIO,
    seed,
    skewsMs: { admission0: random.below(skewMsMax), admission1: random.below(skewMsMax) },
    accounts: ACCOUNTS.map((name) => ({ name, walletNanoUsd: 30 * UNIT_NANO_USD, plan: null, capNanoUsd: null })),
    plans: [{ concurrency: 5, windowUsdNanoUsd: UNREACHED_LIMIT, windowRequests: UNREACHED_LIMIT }],
    acts: [...calls, ...callsThen, ...entries].sort((one, other) => one.at - other.at),
    faults: kinds[seed % kinds.length] ?? [],
    quietAt: LENGTH_MS,
  };
}

function callOf(random: Random, at: number): Act {
  const usage = { input: random.between(1, 9), output: random.below(50) };
  return {
    ...PLAIN_CALL,
    at,
    account: random.below(ACCOUNTS.length),
    key: random.below(2),
    edge: random.below(2),
    model: 1,
    streamed: random.chance(0.5),
    outputTokensMax: 200,
    provider: [{ kind: 'answer', delayMs: 30, gapMs: 200, chunks: 3, usage, breaksAfter: null }],
  };
}
