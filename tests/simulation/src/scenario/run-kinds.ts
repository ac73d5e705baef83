import { EXPIRY_MS } from '../hosts/admission-host.js';
import { Random } from '../time/random.js';
import { makeScenario } from './make-scenario.js';
import type { AccountSeed, Act, AnswerPlan, CallAct, Fault, PlanSeed, ProviderPlan, Scenario } from './scenario.js';

/** A limit that is never reached, in nano-USD and in requests. */
const UNREACHED_LIMIT = 1_000_000_000_000;
/** All buckets are open by this time, and all processes know each other. */
const FIRST_CALL_MS = 3_000;
/** About the cost of one call, and the unit of wallet entries. Nano-USD. */
const UNIT_NANO_USD = 10_000;

/** Makes a run without clock skew, with one account and one plan if it has no others. */
function makeRun(seed: number, parts: Partial<Scenario> & Pick<Scenario, 'acts' | 'faults' | 'quietAt'>): Scenario {
  return {
    seed,
    startMs: Date.parse('2026-11-18T12:00:00.000Z'),
    sharedSubjects: false,
    skewsMs: {},
    accounts: [accountOf('acc-alpha', { plan: 0 })],
    plans: [planOf(5)],
    ...parts,
    acts: [...parts.acts].sort((one, other) => one.at - other.at),
  };
}

function accountOf(name: string, more: Partial<AccountSeed> = {}): AccountSeed {
  return { name, walletNanoUsd: UNREACHED_LIMIT, plan: null, capNanoUsd: null, ...more };
}

function planOf(concurrency: number): PlanSeed {
  return { concurrency, windowUsdNanoUsd: UNREACHED_LIMIT, windowRequests: UNREACHED_LIMIT };
}

/** Makes a call whose client stays and whose provider sends the complete response. */
function makeCall(parts: Partial<Omit<CallAct, 'kind'> & Omit<AnswerPlan, 'kind'>> & Pick<CallAct, 'at'>): CallAct {
  const { delayMs = 30, gapMs = 20, chunks = 2, usage = { input: 1, output: 10 }, ...call } = parts;
  const plain = { account: 0, key: 0, edge: 0, model: 0, streamed: true, outputTokensMax: 50, leavesAfterMs: null };
  const answer = { kind: 'answer', delayMs, gapMs, chunks, usage, breaksAfter: null } as const;
  return { provider: [answer], ...plain, ...call, kind: 'call' };
}

function usageOf(random: Random): { input: number; output: number } {
  return { input: random.between(1, 9), output: random.below(50) };
}

function placeOf(random: Random, accounts: number): Pick<CallAct, 'account' | 'key' | 'edge'> {
  return { account: random.below(accounts), key: random.below(2), edge: random.below(2) };
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_unused, index) => make(index));
}

/**
 * Makes long calls and stops the processing of heartbeats for a time: the limit store is
 * unreachable or paused, the bus is away, all replicas of admission are away, or none receives a
 * heartbeat. Nothing else goes wrong, so no running call may lose its slot (docs/protocol.md#r9).
 */
function makeSilence(seed: number): Scenario {
  const random = new Random(seed);
  const callsMs = 5_000;
  /** Until leases and due times of the silence are over. */
  const afterwardsMs = 15_000;
  const at = FIRST_CALL_MS + random.between(100, 2 * callsMs);
  // Longer than the first lease, a lease after a heartbeat, the expiry, and much longer.
  const ms = random.pick([11_000, 16_000, 45_000, 70_000]);
  /** Shorter than an edge waits for the next chunk of a stream. */
  const gapsMs = [900, 9_000, 14_000];
  const call = (callAt: number): CallAct =>
    makeCall({ at: callAt, usage: usageOf(random), gapMs: random.pick(gapsMs), chunks: 8, ...placeOf(random, 2) });
  const before = times(6, () => call(FIRST_CALL_MS + random.below(callsMs)));
  const after = times(6, () => call(at + ms + random.below(afterwardsMs)));
  const silences: Fault[] = [
    { kind: 'cut', host: 'redis', at, ms },
    { kind: 'hang', host: 'redis', at, ms },
    { kind: 'cut', host: 'bus', at, ms },
    { kind: 'away', at, ms },
    { kind: 'cut', host: 'heartbeats', at, ms },
  ];
  return makeRun(seed, {
    accounts: times(2, (index) => accountOf(`acc-${index}`, { plan: 0 })),
    plans: [planOf(3)],
    acts: [...before, ...after],
    faults: [random.pick(silences)],
    quietAt: at + ms + afterwardsMs,
  });
}

/** Time after which an edge without a heartbeat is gone (docs/protocol.md#r12). */
export const GONE_MS = EXPIRY_MS + 60_000;

/**
 * Kills an edge that runs as many calls as its account has slots. The limit store is lost when the
 * edge is long gone, or it is lost at once and comes back then. Calls at another edge follow.
 */
function makeGone(seed: number): Scenario {
  const random = new Random(seed);
  const [killedAt, slots, callsMs] = [8_000, 2, 9_000];
  const backAt = killedAt + GONE_MS + 3_000 + random.below(15_000);
  const before = times(slots, () => makeCall({ at: FIRST_CALL_MS + random.below(1_000), gapMs: 20_000 }));
  const after = times(12, (index) =>
    makeCall({ at: backAt + (index * callsMs) / 12 + random.below(300), edge: 1, gapMs: 50 }),
  );
  const lose = (how: 'flush' | 'restart_empty', at: number): Fault => {
    return { kind: 'limit-store', how, at, ms: backAt - at };
  };
  const loss = random.chance(0.5) ? lose('flush', backAt) : lose('restart_empty', killedAt + random.below(2_000));
  return makeRun(seed, {
    plans: [planOf(slots)],
    acts: [...before, ...after],
    faults: [{ kind: 'edge-killed', host: 'edge0', at: killedAt, ms: 500 }, loss],
    quietAt: backAt + callsMs + 1_000,
  });
}

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
function makeFailover(seed: number): Scenario {
  const random = new Random(seed);
  const [failoverAt, lengthMs] = [4_000, 40_000];
  /** By this time the promoted copy is open and has loaded the account. */
  const loadedMs = 10_000;
  /** Time within which the other replica has not found or reported the promoted copy. */
  const atOnceMs = 300;
  /** Each account has its own bucket. */
  const accounts = ['acc-alpha', 'acc-beta', 'acc-gamma'];
  const call = (at: number): Act =>
    makeCall({
      at,
      usage: usageOf(random),
      ...placeOf(random, accounts.length),
      model: 1,
      streamed: random.chance(0.5),
      outputTokensMax: 200,
      gapMs: 200,
      chunks: 3,
    });
  const calls = times(60, () => call(random.below(lengthMs)));
  const entries = times(6, (): Act => {
    const amountNanoUsd = random.pick([-4, -2, 3]) * UNIT_NANO_USD;
    const at = random.between(loadedMs, lengthMs - 1);
    return { kind: 'wallet', at, account: random.below(accounts.length), amountNanoUsd };
  });
  const failover = { kind: 'failover', how: random.pick(['as_it_is', 'late'] as const), at: failoverAt } as const;
  const misleading = { ...failover, ms: lengthMs / 2, misleads: true };
  const awayAt = failoverAt + random.between(-1_000, loadedMs);
  const away = { kind: 'cut', at: awayAt, ms: random.between(1_000, 6_000) } as const;
  const kinds: readonly (readonly Fault[])[] = [
    [{ ...failover, ms: 2 * lengthMs }],
    [misleading],
    [{ ...failover, ms: random.between(1_000, loadedMs), forgetsAfterMs: random.below(atOnceMs) }],
    [misleading, { ...away, host: 'bus' }],
    [
      { ...failover, ms: lengthMs / 2 },
      { ...away, host: 'admission0' },
      { ...away, host: 'edge0' },
    ],
    [
      { kind: 'away', at: failoverAt, ms: 500 },
      { kind: 'limit-store', how: 'flush', at: failoverAt + random.below(500), ms: 0 },
    ],
  ];
  const isEmptied = seed % kinds.length === kinds.length - 1;
  // The largest skew makes a clock's epochs later than the next epochs of another clock.
  const skewMsMax = isEmptied ? 30_000 : random.pick([30, 1_000]);
  const callsThen = times(30, () => call(failoverAt + random.below(atOnceMs)));
  return makeRun(seed, {
    skewsMs: { admission0: random.below(skewMsMax), admission1: random.below(skewMsMax) },
    accounts: accounts.map((name) => accountOf(name, { walletNanoUsd: 30 * UNIT_NANO_USD })),
    acts: [...calls, ...callsThen, ...entries],
    faults: kinds[seed % kinds.length] ?? [],
    quietAt: lengthMs,
  });
}

/**
 * Restores the limit store from its file, or promotes a copy. Some accounts have not been used
 * since, and some have changed or change in the meantime, while billing may be behind. Confirmed
 * accounts must match their owners (docs/protocol.md#r12).
 */
function makeKept(seed: number): Scenario {
  const random = new Random(seed);
  /** The server's last file has the first calls and no change after `filedAt`. */
  const [filedAt, lossAt, lengthMs] = [9_100, 11_500, 24_000];
  /** By this time most buckets are open again and accounts are confirmed. */
  const afterwardsAt = 14_000;
  const accounts = 3;
  const call = (account: number, at: number): CallAct =>
    makeCall({
      at,
      account,
      usage: usageOf(random),
      key: random.below(2),
      edge: random.below(2),
      model: random.below(2),
      gapMs: random.pick([20, 400]),
      chunks: 3,
    });
  const change = (at: number): Act => {
    const account = random.below(accounts);
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
        return call(account, at);
    }
  };
  const acts = [
    ...times(2 * accounts, (index) => call(index % accounts, FIRST_CALL_MS + random.below(2_000))),
    ...times(random.below(4), () => change(random.between(filedAt, lossAt))),
    ...times(random.below(2), () => change(random.between(lossAt, afterwardsAt))),
    ...times(10, () => call(random.below(accounts), random.between(afterwardsAt, lengthMs - 1))),
  ];
  const faults: Fault[] = [
    random.chance(0.6)
      ? { kind: 'limit-store', how: 'restart_old', at: lossAt, ms: random.pick([10, 300]) }
      : { kind: 'failover', how: random.pick(['as_it_is', 'late'] as const), at: lossAt, ms: random.pick([1, 2_000]) },
  ];
  if (random.chance(0.4)) {
    const [at, ms] = [lossAt - random.below(1_500), random.between(1_000, 5_000)];
    for (const host of ['billing0', 'billing1']) faults.push({ kind: 'hang', host, at, ms });
  }
  const messages = times(random.pick([0, 0, 20]), (): Fault => {
    const how = random.pick(['drop', 'delay', 'double'] as const);
    return { kind: 'message', n: random.between(1, 2_000), how, ms: how === 'drop' ? 0 : random.below(4_000) };
  });
  return makeRun(seed, {
    accounts: times(accounts, (index) =>
      accountOf(`acc-${index}`, {
        walletNanoUsd: 30 * UNIT_NANO_USD,
        plan: index === 0 ? 0 : null,
        capNanoUsd: index === 1 ? 20 * UNIT_NANO_USD : null,
      }),
    ),
    acts,
    faults: [...faults, ...messages],
    quietAt: lengthMs,
  });
}

/**
 * Pauses a replica of admission that has received balances of a key. Meanwhile the limit store is
 * emptied, and calls of another key load the account again. That load does not name the balances,
 * and late ones must not count (docs/protocol.md#r11).
 */
function makeLate(seed: number): Scenario {
  const random = new Random(seed);
  const [lossAt, afterMs] = [4_500, 2_000];
  const call = (at: number, key: number): CallAct =>
    makeCall({
      at,
      key,
      usage: { input: 2, output: random.between(10, 40) },
      edge: random.below(2),
      delayMs: 3,
      gapMs: 1,
    });
  const before = times(16, () => call(random.between(FIRST_CALL_MS, lossAt), 0));
  const after = times(3, () => call(lossAt + random.below(afterMs), 1));
  const at = lossAt - random.below(700);
  return makeRun(seed, {
    accounts: [accountOf('acc-alpha', { capNanoUsd: UNREACHED_LIMIT })],
    plans: [],
    acts: [...before, ...after],
    faults: [
      // It continues before or after the account is loaded again.
      { kind: 'hang', host: 'admission0', at, ms: random.between(lossAt - at, 3_000) },
      { kind: 'limit-store', how: 'flush', at: lossAt, ms: 0 },
    ],
    quietAt: lossAt + afterMs,
  });
}

/**
 * Makes billing's database unavailable while many calls end at once, and kills one billing replica,
 * usually while it settles the accumulated events. Messages are delivered again, and none may be
 * acknowledged before all of it is settled (docs/protocol.md#r7).
 */
function makeOutage(seed: number): Scenario {
  const random = new Random(seed);
  /** Accounts are loaded by then. */
  const outageAt = 3_000;
  const call = (at: number, account: number): CallAct =>
    makeCall({ at, account, usage: usageOf(random), gapMs: random.pick([1, 20]), chunks: 3, edge: random.below(2) });
  const first = times(2, (account) => call(random.below(outageAt / 2), account));
  // Messages wait, or are delivered again once or more.
  const ms = random.pick([700, 11_000, 24_000, 45_000]);
  const burstAt = outageAt + random.below(Math.min(ms, 5_000));
  // Calls end together, so that one chunk has many transactions.
  const burst = times(16, () => call(burstAt + random.below(200), random.below(2)));
  const step = random.pick(['commits', 'committed'] as const);
  return makeRun(seed, {
    accounts: times(2, (index) => accountOf(`acc-${index}`)),
    plans: [],
    acts: [...first, ...burst],
    faults: [
      { kind: 'cut', host: 'postgres', at: outageAt, ms },
      { kind: 'step-killed', step, n: random.between(1, 14), afterMs: 0, ms: 700 },
    ],
    // Longer than a batch's attempts and the wait after them.
    quietAt: outageAt + ms + 12_000,
  });
}

/**
 * Makes clients use up a wallet while standbys of the ledger are promoted. Accounts, whose database
 * is on the same server, answers late. A chargeback follows soon after some promotions.
 */
function makePromoted(seed: number): Scenario {
  const random = new Random(seed);
  /** Somewhat more than the worst case and the cost of a call. */
  const callNanoUsd = 4_000;
  const call = (): CallAct =>
    makeCall({
      at: 0,
      edge: random.below(2),
      streamed: random.chance(0.5),
      delayMs: random.pick([20, 300, 1_200]),
      gapMs: random.pick([1, 20]),
      usage: { input: 1, output: 40 },
    });
  // The second promotion comes while loads of the first wait for accounts.
  const faults = times(3, (): Fault[] => {
    const at = FIRST_CALL_MS + random.below(4_000);
    return [
      { kind: 'promotion', at, commits: random.below(4) },
      { kind: 'hang', host: 'accounts', at: at + random.below(300), ms: random.pick([200, 1_000, 3_000]) },
      { kind: 'promotion', at: at + random.between(50, 1_500), commits: random.below(4) },
    ];
  }).flat();
  const chargebackAfter = (fault: Fault): Act[] => {
    if (fault.kind !== 'promotion' || random.chance(0.7)) return [];
    const amountNanoUsd = -random.between(1, 10) * callNanoUsd;
    return [{ kind: 'wallet', at: fault.at + random.below(500), account: 0, amountNanoUsd }];
  };
  return makeRun(seed, {
    accounts: [accountOf('acc-alpha', { walletNanoUsd: random.between(10, 40) * callNanoUsd })],
    plans: [],
    acts: [
      ...times(4, (): Act => ({ kind: 'series', at: FIRST_CALL_MS, calls: times(40, call) })),
      ...faults.flatMap(chargebackAfter),
    ],
    faults,
    quietAt: FIRST_CALL_MS + 20_000,
  });
}

/**
 * Makes many small calls near the end of their plan's USD window, some of them at the same time,
 * with an empty wallet (docs/behaviour.md#windows).
 */
function makeNearEnd(seed: number): Scenario {
  const random = new Random(seed);
  const lengthMs = 20_000;
  const call = (): CallAct =>
    makeCall({
      usage: { input: 1, output: random.below(50) },
      at: FIRST_CALL_MS + random.below(lengthMs),
      key: random.below(2),
      edge: random.below(2),
      streamed: random.chance(0.5),
      outputTokensMax: 200,
      delayMs: 200,
      gapMs: 300,
      chunks: 4,
    });
  return makeRun(seed, {
    accounts: [accountOf('acc-alpha', { walletNanoUsd: 0, plan: 0 })],
    // About ten calls of a run. One call may cost more than the last 5 % of it.
    plans: [{ ...planOf(6), windowUsdNanoUsd: 100_000 }],
    acts: times(60, call),
    faults: [],
    quietAt: FIRST_CALL_MS + lengthMs,
  });
}

/**
 * `alone`: one client with one slot, whose calls go to any edge. `together`: at most as many
 * clients as slots, at one edge. `poor`: one client at one edge with enough slots, whose wallet
 * soon does not cover a second worst case.
 */
type SeriesKind = 'alone' | 'together' | 'poor';

/**
 * Makes clients that call one request after the other without a pause, while nothing goes wrong.
 * @param calls total number of calls of the run
 */
function makeSeries(seed: number, calls: number, company: SeriesKind): Scenario {
  const random = new Random(seed);
  const concurrency = company === 'alone' ? 1 : random.between(2, 4);
  const clients = company === 'together' ? random.between(2, concurrency) : 1;
  // A call's worst case is about 4,000 nano-USD.
  const walletNanoUsd = company === 'poor' ? random.between(3, 12) * 4_000 : UNREACHED_LIMIT;
  const edge = random.below(2);
  /** Returns fast and slow responses, and some errors. */
  const providerPlan = (): ProviderPlan => {
    const delayMs = random.pick([1, 3, 30, 200]);
    if (random.chance(0.05)) return { kind: 'status', delayMs, status: random.pick([500, 400]) };
    const usage = usageOf(random);
    return { kind: 'answer', delayMs, gapMs: random.pick([0, 1, 20]), chunks: 2, usage, breaksAfter: null };
  };
  const call = (): CallAct =>
    makeCall({
      at: 0,
      edge: company === 'alone' ? random.below(2) : edge,
      // The second model is in no plan, so the wallet pays.
      model: company === 'poor' ? 1 : 0,
      key: random.below(2),
      streamed: random.chance(0.5),
      provider: [providerPlan(), providerPlan()],
    });
  const firstAt = 20_000;
  return makeRun(seed, {
    accounts: [accountOf('acc-alpha', { walletNanoUsd, plan: 0 })],
    plans: [planOf(concurrency)],
    acts: times(clients, () => ({ kind: 'series', at: firstAt, calls: times(Math.ceil(calls / clients), call) })),
    faults: [],
    // Longer than the calls take, with two attempts each.
    quietAt: firstAt + calls * 700,
  });
}

/** Number of calls in a run of clients that call one at a time. */
const SERIES_CALLS = 100;

/** The kinds of runs that mistakes are searched with. */
export const RUN_KINDS = {
  ordinary: makeScenario,
  silence: makeSilence,
  gone: makeGone,
  failover: makeFailover,
  kept: makeKept,
  late: makeLate,
  outage: makeOutage,
  promoted: makePromoted,
  windows: makeNearEnd,
  alone: (seed: number) => makeSeries(seed, SERIES_CALLS, 'alone'),
  together: (seed: number) => makeSeries(seed, SERIES_CALLS, 'together'),
  poor: (seed: number) => makeSeries(seed, SERIES_CALLS, 'poor'),
} satisfies Record<string, (seed: number) => Scenario>;
export type RunKind = keyof typeof RUN_KINDS;
