import { makeUuidV7 } from '@gateway/contracts/ids';
import type { HoldFields, PricedVersion, UsageEvent, WireTokenUsage } from '@gateway/contracts/messages';
import type { SeededRandom } from '@gateway/testkit/random';
import { toExpiredEvent } from '../test/events.js';

export const MONTH_BEGINS = Date.UTC(2026, 9, 1);
export const MONTH_ENDS = Date.UTC(2026, 10, 1);
const DAY = 86_400_000;
const MILLIONTHS = 1_000_000n;

/** An account with the data that its calls need. The plan changes in the middle of the month. */
export interface GeneratedAccount {
  readonly account: string;
  /** The first period applies until the change, then the second; null: no plan. */
  readonly periods: readonly [string, string] | null;
}

/** A call that the ledger must show as `expected`, and its events in their order of delivery. */
export interface GeneratedCall {
  readonly id: string;
  readonly at: number;
  readonly events: readonly UsageEvent[];
  readonly expected: ExpectedRecord;
}

/** The expected record of a call, computed only from the rules. */
export interface ExpectedRecord {
  readonly account: string;
  readonly key: string;
  readonly member: string;
  readonly model: string;
  readonly period: string | null;
  readonly outcome: UsageEvent['outcome'];
  readonly charged: bigint;
  readonly plan: bigint;
  readonly wallet: bigint;
  readonly costs: ReadonlyMap<string, bigint>;
}

/** Returns an integer in [from, to]. */
export function between(random: SeededRandom, from: number, to: number): number {
  return from + random.below(to - from + 1);
}

/** Returns a time in the month or the days around it, including its first and last millisecond. */
function momentOf(random: SeededRandom): number {
  if (random.chance(0.02)) {
    return random.pick([MONTH_BEGINS - 1, MONTH_BEGINS, MONTH_ENDS - 1, MONTH_ENDS]);
  }
  if (random.chance(0.04)) {
    return random.pick([MONTH_BEGINS - between(random, 1, DAY), MONTH_ENDS + between(random, 0, DAY)]);
  }
  return between(random, MONTH_BEGINS, MONTH_ENDS - 1);
}

export const PLAN_CHANGES = MONTH_BEGINS + 14 * DAY;

/**
 * Generates one call: paid by plan, wallet or both, failed, expired, settled after it had expired,
 * or delivered twice.
 */
export function generateCall(random: SeededRandom, of: GeneratedAccount): GeneratedCall {
  const at = momentOf(random);
  const id = makeUuidV7(at);
  const price = priceOf(random, 'p');
  const usage = copyUsage(random);
  const amount = rated(usage, price);
  const hold = holdOf(random, of, { at, amount, priceVersion: price.version });
  const attempts = attemptsOf(random, usage);
  const settled: UsageEvent = {
    id,
    rank: 2,
    outcome: 'settled',
    hold,
    endpoint: '/v1/chat/completions',
    streamed: random.chance(0.5),
    startedAt: at,
    endedAt: at + 900,
    firstByteAt: at + 300,
    status: 200,
    source: 'source-1',
    usage,
    evidence: 'reported',
    price,
    amountNanoUsd: Number(amount),
    attempts,
  };
  const voided: UsageEvent = {
    ...settled,
    outcome: 'voided',
    usage: null,
    evidence: 'none',
    amountNanoUsd: 0,
    status: 502,
    attempts: random.chance(0.5) ? attempts : [],
  };
  const gone = toExpiredEvent(settled);
  const last = random.chance(0.12) ? voided : random.chance(0.04) ? gone : settled;
  const before = last !== gone && random.chance(0.05) ? [gone] : [];
  const again = random.chance(0.05) ? [last] : [];
  return { id, at, events: [...before, last, ...again], expected: expectedOf(last) };
}

interface CallInput {
  readonly at: number;
  readonly amount: bigint;
  readonly priceVersion: string;
}

function holdOf(
  random: SeededRandom,
  { account, periods }: GeneratedAccount,
  { at, amount, priceVersion }: CallInput,
): HoldFields {
  const period = periods === null ? null : periods[at < PLAN_CHANGES ? 0 : 1];
  const isPlanFunded = period !== null && random.chance(0.8);
  return {
    account,
    key: `key-${between(random, 1, 6)}-${account}`,
    member: `member-${between(random, 1, 3)}-${account}`,
    model: random.pick(['acme/one', 'acme/two', 'other/three']),
    priceVersion,
    worstNanoUsd: Number(amount) + between(random, 0, 50_000),
    planMaxNanoUsd: isPlanFunded ? portionOf(random, amount) : 0,
    walletMaxNanoUsd: isPlanFunded ? portionOf(random, amount) : null,
    periods: {
      month: new Date(at).toISOString().slice(0, 7),
      session5h: isPlanFunded ? at - between(random, 0, 10_000) : null,
      weekly: isPlanFunded ? MONTH_BEGINS - 3 * DAY : null,
      subscription: isPlanFunded ? { id: period, start: MONTH_BEGINS - 2 * DAY, end: MONTH_ENDS + 2 * DAY } : null,
    },
    windows: isPlanFunded
      ? [
          { type: 'session_5h', unit: 'usd' },
          { type: 'weekly', unit: 'requests' },
          { type: 'monthly', unit: 'usd' },
        ]
      : [],
    allotment: isPlanFunded ? random.pick(['usd', 'requests', null]) : null,
    admittedAt: at,
  };
}

/**
 * Splits the amount: the plan up to its bound, then the wallet up to its bound, the remainder to
 * the plan. A wallet-funded call is paid by the wallet alone.
 */
function expectedOf({ outcome, hold, amountNanoUsd, attempts }: UsageEvent): ExpectedRecord {
  const { account, key, member, model, walletMaxNanoUsd } = hold;
  const rest = Math.max(amountNanoUsd - hold.planMaxNanoUsd, 0);
  const wallet = walletMaxNanoUsd === null ? amountNanoUsd : Math.min(rest, walletMaxNanoUsd);
  return {
    account,
    key,
    member,
    model,
    outcome,
    period: hold.periods.subscription?.id ?? null,
    charged: BigInt(amountNanoUsd),
    plan: BigInt(amountNanoUsd - wallet),
    wallet: BigInt(wallet),
    costs: costsOf(attempts),
  };
}

/** Returns up to 150 % of the amount. */
function portionOf(random: SeededRandom, amount: bigint): number {
  return Number((amount * BigInt(between(random, 0, 150))) / 100n);
}

function priceOf(random: SeededRandom, prefix: string): PricedVersion {
  const per = (): number => between(random, 0, 30_000_000_000);
  const optional = (): number | null => (random.chance(0.3) ? null : per());
  const tokens = () => ({
    inputPerMillion: per(),
    cachedInputPerMillion: optional(),
    cacheWritePerMillion: optional(),
    cacheWrite1hPerMillion: optional(),
    outputPerMillion: per(),
  });
  return {
    version: `${prefix}${between(random, 1, 1_000_000)}`,
    figures: { ...tokens(), perCall: between(random, 0, 3), tiers: [{ aboveInputTokens: 6_000, ...tokens() }] },
  };
}

function copyUsage(random: SeededRandom): WireTokenUsage {
  const cachedInput = between(random, 0, 3_000);
  const cacheWrite = between(random, 0, 500);
  const cacheWrite1h = between(random, 0, 100);
  const input = cachedInput + cacheWrite + cacheWrite1h + between(random, 0, 4_000);
  return { input, cachedInput, cacheWrite, cacheWrite1h, output: between(random, 0, 4_000) };
}

function attemptsOf(random: SeededRandom, usage: WireTokenUsage): UsageEvent['attempts'] {
  const served = between(random, 1, 2);
  const failed: UsageEvent['attempts'] = random.chance(0.2)
    ? [attempt(3 - served, { outcome: 'rejected', status: 503, possiblyPaid: false, usage: null, cost: null })]
    : [];
  const cost = random.chance(0.1) ? null : priceOf(random, 'c');
  return [...failed, attempt(served, { outcome: 'completed', status: 200, possiblyPaid: true, usage, cost })];
}

type Attempt = UsageEvent['attempts'][number];

function attempt(number: number, rest: Omit<Attempt, 'source' | 'provider'>): Attempt {
  return { source: `source-${number}`, provider: `provider-${number}`, ...rest };
}

function costsOf(attempts: UsageEvent['attempts']): Map<string, bigint> {
  const costs = new Map<string, bigint>();
  for (const { provider, usage, cost } of attempts) {
    if (usage === null || cost === null) continue;
    costs.set(provider, (costs.get(provider) ?? 0n) + rated(usage, cost));
  }
  return costs;
}

/**
 * Repeats the rating rule in its simplest form: all tokens times their prices, rounded half up
 * once, plus the price per call. A price that a tier lacks is the standard price times the ratio of
 * the input prices.
 */
function rated(usage: WireTokenUsage, { figures }: PricedVersion): bigint {
  const tier = figures.tiers.find(({ aboveInputTokens }) => usage.input > aboveInputTokens) ?? figures;
  const [input, base] = [BigInt(tier.inputPerMillion), BigInt(figures.inputPerMillion)];
  const scaled = (price: number): bigint => {
    if (tier === figures) return BigInt(price);
    if (base === 0n) return BigInt(price) > input ? BigInt(price) : input;
    const exact = BigInt(price) * input;
    return exact / base + ((exact % base) * 2n >= base ? 1n : 0n);
  };
  const write = figures.cacheWritePerMillion ?? figures.inputPerMillion;
  const plain = usage.input - usage.cachedInput - usage.cacheWrite - usage.cacheWrite1h;
  const ofWrite = tier.cacheWritePerMillion === null ? scaled(write) : BigInt(tier.cacheWritePerMillion);
  const ofHour = figures.cacheWrite1hPerMillion === null ? ofWrite : scaled(figures.cacheWrite1hPerMillion);
  const parts: [number, bigint][] = [
    [plain, input],
    [
      usage.cachedInput,
      BigInt(tier.cachedInputPerMillion ?? scaled(figures.cachedInputPerMillion ?? figures.inputPerMillion)),
    ],
    [usage.cacheWrite, ofWrite],
    [usage.cacheWrite1h, tier.cacheWrite1hPerMillion === null ? ofHour : BigInt(tier.cacheWrite1hPerMillion)],
    [usage.output, BigInt(tier.outputPerMillion)],
  ];
  const sum = parts.reduce((total, [tokens, price]) => total + BigInt(tokens) * price, 0n);
  const whole = sum / MILLIONTHS;
  return whole + (sum % MILLIONTHS >= MILLIONTHS / 2n ? 1n : 0n) + BigInt(figures.perCall);
}
