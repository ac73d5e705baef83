import { Random } from '../time/random.js';
import { makeFaults } from './make-faults.js';
import type { AccountSeed, Act, PlanSeed, ProviderPlan, Scenario } from './scenario.js';

/** In the middle of a period, near the end of a month, and near the end of a week and day. */
const STARTS = ['2026-11-20T12:00:00.000Z', '2026-11-30T23:59:40.000Z', '2026-11-22T23:59:30.000Z'].map((text) =>
  Date.parse(text),
);
const ACCOUNTS = ['acc-alpha', 'acc-beta', 'acc-gamma'];
/** The largest call of a run may cost a few times this amount, so that limits are reached. */
const UNIT_NANO_USD = 10_000;
const SKEW_MS_MAX = 1_000;
const LENGTHS_MS = [2_000, 4_000, 9_000];

/** Makes a different run per seed: few accounts, many concurrent calls, many faults. */
export function makeScenario(seed: number): Scenario {
  const random = new Random(seed);
  const plans = Array.from({ length: 2 }, () => planSeed(random));
  const accounts = ACCOUNTS.slice(0, random.between(1, ACCOUNTS.length)).map((name) => accountSeed(random, name));
  const quietAt = random.pick(LENGTHS_MS);
  const acts = [...makeCalls(random, accounts.length, quietAt), ...makeCommands(random, accounts.length, quietAt)];
  const skewsMs: Record<string, number> = {};
  for (const name of ['edge0', 'edge1', 'admission0', 'admission1', 'billing0', 'billing1']) {
    skewsMs[name] = random.chance(0.5) ? 0 : random.between(-SKEW_MS_MAX, SKEW_MS_MAX);
  }
  return {
    seed,
    startMs: random.pick(STARTS) + random.below(20_000),
    accounts,
    plans,
    sharedSubjects: random.chance(0.4),
    skewsMs,
    acts: acts.sort((one, other) => one.at - other.at),
    faults: makeFaults(random, seed, quietAt),
    quietAt,
  };
}

function planSeed(random: Random): PlanSeed {
  return {
    concurrency: random.between(2, 5),
    windowUsdNanoUsd: random.between(2, 12) * UNIT_NANO_USD,
    windowRequests: random.between(4, 15),
  };
}

function accountSeed(random: Random, name: string): AccountSeed {
  return {
    name,
    walletNanoUsd: random.between(3, 40) * UNIT_NANO_USD,
    plan: random.chance(0.35) ? random.below(2) : null,
    capNanoUsd: random.chance(0.4) ? random.between(3, 20) * UNIT_NANO_USD : null,
  };
}

function makeCalls(random: Random, accounts: number, quietAt: number): Act[] {
  const burst = random.chance(0.5);
  const moments = Array.from({ length: 4 }, () => random.below(quietAt));
  return Array.from({ length: random.between(6, 22) }, () => {
    const outputTokensMax = random.pick([50, 200, 500]);
    return {
      kind: 'call' as const,
      at: burst ? Math.min(quietAt - 1, random.pick(moments) + random.below(300)) : random.below(quietAt),
      account: random.below(accounts),
      key: random.below(2),
      edge: random.below(2),
      model: random.below(2),
      streamed: random.chance(0.6),
      outputTokensMax,
      provider: [providerPlan(random, outputTokensMax), providerPlan(random, outputTokensMax)],
      leavesAfterMs: random.chance(0.15) ? random.pick([5, 60, 300, 2_000]) : null,
    };
  });
}

function providerPlan(random: Random, outputTokensMax: number): ProviderPlan {
  const delayMs = random.pick([3, 30, 200, 1_500]);
  const kind = random.next();
  if (kind < 0.07) return { kind: 'status', delayMs, status: random.pick([500, 503, 429, 400]) };
  if (kind < 0.1) return { kind: 'unreachable', delayMs };
  const usage = random.chance(0.85) ? { input: random.between(1, 9), output: random.below(outputTokensMax + 1) } : null;
  const chunks = random.between(1, 8);
  const breaks = random.chance(0.12);
  const how = random.chance(0.7) ? ('cut' as const) : ('stall' as const);
  return {
    kind: 'answer',
    delayMs,
    gapMs: random.pick([1, 20, 200, 1_000]),
    chunks,
    usage,
    breaksAfter: breaks ? { chunks: random.below(chunks + 1), how } : null,
  };
}

function makeCommands(random: Random, accounts: number, quietAt: number): Act[] {
  const acts: Act[] = [];
  const at = (): number => random.below(quietAt);
  const some = (): number => random.below(accounts);
  for (let count = random.below(4); count > 0; count -= 1) {
    const amountNanoUsd = random.pick([-4, 5, 12, 20]) * UNIT_NANO_USD;
    acts.push({ kind: 'wallet', at: at(), account: some(), amountNanoUsd });
  }
  for (let count = random.below(3); count > 0; count -= 1)
    acts.push({ kind: 'take_slot', at: at(), nth: random.below(4) });
  if (random.chance(0.2)) {
    const [account, begin] = [some(), at()];
    acts.push({ kind: 'state', at: begin, account, state: 'suspended' });
    acts.push({ kind: 'state', at: begin + random.between(500, 6_000), account, state: 'active' });
  }
  if (random.chance(0.3)) acts.push({ kind: 'rotate', at: at(), account: some(), key: random.below(2) });
  for (let count = random.below(3); count > 0; count -= 1) {
    acts.push({ kind: 'terms', at: at(), account: some(), plan: random.chance(0.3) ? null : random.below(2) });
  }
  return acts;
}
