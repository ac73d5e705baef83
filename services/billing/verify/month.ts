import { makeUuidV7 } from '@gateway/contracts/ids';
import type { HoldFields, PricedVersion, UsageEvent, WireTokenUsage } from '@gateway/contracts/messages';
import { monthOf } from '@gateway/metering';
import type { SeededRandom } from '@gateway/testkit/random';
import { createHold, createPlanHold, createSettledEvent, toExpiredEvent, toVoidedEvent } from '../test/events.js';

export const MONTH_BEGINS = Date.UTC(2026, 9, 1);
export const MONTH_ENDS = Date.UTC(2026, 10, 1);
const DAY = 86_400_000;
export const PLAN_CHANGES = MONTH_BEGINS + 14 * DAY;
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
  readonly expected: ReturnType<typeof expectedOf>;
}

/** Returns an integer in [from, to]. */
export function between(random: SeededRandom, from: number, to: number): number {
  return from + random.below(to - from + 1);
}

/** Returns a time in the month, sometimes exactly at its bounds or up to a day outside. */
function momentOf(random: SeededRandom): number {
  if (random.chance(0.02)) return random.pick([MONTH_BEGINS - 1, MONTH_BEGINS, MONTH_ENDS - 1, MONTH_ENDS]);
  const day = between(random, 1, DAY);
  if (random.chance(0.04)) return random.pick([MONTH_BEGINS - day, MONTH_ENDS + day]);
  return between(random, MONTH_BEGINS, MONTH_ENDS - 1);
}

/**
 * Generates one call: paid by plan, wallet or both, failed, expired, settled after it had expired,
 * or delivered twice.
 */
export function generateCall(random: SeededRandom, of: GeneratedAccount): GeneratedCall {
  const at = momentOf(random);
  const id = makeUuidV7(at);
  const price = priceOf(random, 'p');
  const usage = drawUsage(random);
  const amount = rated(usage, price);
  const attempts = attemptsOf(random, usage);
  const times = { startedAt: at, endedAt: at + 900, firstByteAt: at + 300, streamed: random.chance(0.5) };
  const hold = { ...holdOf(random, of, at, amount), priceVersion: price.version };
  const settled = createSettledEvent(hold, Number(amount), { id, ...times, usage, price, attempts });
  const voided = { ...toVoidedEvent(settled), attempts: random.chance(0.5) ? attempts : [] };
  const gone = toExpiredEvent(settled);
  const last = random.chance(0.12) ? voided : random.chance(0.04) ? gone : settled;
  const before = last !== gone && random.chance(0.05) ? [gone] : [];
  const again = random.chance(0.05) ? [last] : [];
  return { id, at, events: [...before, last, ...again], expected: expectedOf(last) };
}

function holdOf(random: SeededRandom, { account, periods }: GeneratedAccount, at: number, amount: bigint): HoldFields {
  const period = periods === null ? null : periods[at < PLAN_CHANGES ? 0 : 1];
  const isPlanFunded = period !== null && random.chance(0.8);
  /** Up to 150 % of the amount. */
  const portion = (): number => Number((amount * BigInt(between(random, 0, 150))) / 100n);
  const hold = isPlanFunded ? createPlanHold(account, portion(), portion()) : createHold(account);
  return {
    ...hold,
    key: `key-${between(random, 1, 6)}-${account}`,
    member: `member-${between(random, 1, 3)}-${account}`,
    model: random.pick(['acme/one', 'acme/two', 'other/three']),
    worstNanoUsd: Number(amount) + between(random, 0, 50_000),
    periods: {
      month: monthOf(at),
      session5h: isPlanFunded ? at - between(random, 0, 10_000) : null,
      weekly: isPlanFunded ? MONTH_BEGINS - 3 * DAY : null,
      subscription: isPlanFunded ? { id: period, start: MONTH_BEGINS - 2 * DAY, end: MONTH_ENDS + 2 * DAY } : null,
    },
    allotment: isPlanFunded ? random.pick(['usd', 'requests', null]) : null,
    admittedAt: at,
  };
}

/**
 * Returns the record that the ledger must have, computed only from the rules. The plan pays up to
 * its bound, then the wallet up to its bound, the plan the remainder. A wallet-funded call is paid
 * by the wallet alone.
 */
function expectedOf({ outcome, hold, amountNanoUsd, attempts }: UsageEvent) {
  const { account, key, member, model, walletMaxNanoUsd } = hold;
  const rest = Math.max(amountNanoUsd - hold.planMaxNanoUsd, 0);
  const wallet = walletMaxNanoUsd === null ? amountNanoUsd : Math.min(rest, walletMaxNanoUsd);
  const costs = new Map<string, bigint>();
  for (const { provider, usage, cost } of attempts)
    if (usage !== null && cost !== null) costs.set(provider, (costs.get(provider) ?? 0n) + rated(usage, cost));
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
    costs,
  };
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

function drawUsage(random: SeededRandom): WireTokenUsage {
  const cachedInput = between(random, 0, 3_000);
  const cacheWrite = between(random, 0, 500);
  const cacheWrite1h = between(random, 0, 100);
  const input = cachedInput + cacheWrite + cacheWrite1h + between(random, 0, 4_000);
  return { input, cachedInput, cacheWrite, cacheWrite1h, output: between(random, 0, 4_000) };
}

function attemptsOf(random: SeededRandom, usage: WireTokenUsage): UsageEvent['attempts'] {
  const served = between(random, 1, 2);
  const placeOf = (number: number) => ({ source: `source-${number}`, provider: `provider-${number}` });
  const failed = { ...placeOf(3 - served), outcome: 'rejected', status: 503, possiblyPaid: false } as const;
  const completed = { ...placeOf(served), outcome: 'completed', status: 200, possiblyPaid: true } as const;
  const cost = random.chance(0.1) ? null : priceOf(random, 'c');
  const before = random.chance(0.2) ? [{ ...failed, usage: null, cost: null }] : [];
  return [...before, { ...completed, usage, cost }];
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
  const priceOf = (own: number | null, standard: number): bigint => (own === null ? scaled(standard) : BigInt(own));
  const { inputPerMillion, cachedInputPerMillion, cacheWritePerMillion, cacheWrite1hPerMillion } = figures;
  const write = priceOf(tier.cacheWritePerMillion, cacheWritePerMillion ?? inputPerMillion);
  const standardHour = cacheWrite1hPerMillion === null ? write : scaled(cacheWrite1hPerMillion);
  const hour = tier.cacheWrite1hPerMillion === null ? standardHour : BigInt(tier.cacheWrite1hPerMillion);
  const cached = priceOf(tier.cachedInputPerMillion, cachedInputPerMillion ?? inputPerMillion);
  const plain = usage.input - usage.cachedInput - usage.cacheWrite - usage.cacheWrite1h;
  const sum =
    BigInt(plain) * input +
    BigInt(usage.cachedInput) * cached +
    BigInt(usage.cacheWrite) * write +
    BigInt(usage.cacheWrite1h) * hour +
    BigInt(usage.output) * BigInt(tier.outputPerMillion);
  return (sum + MILLIONTHS / 2n) / MILLIONTHS + BigInt(figures.perCall);
}
