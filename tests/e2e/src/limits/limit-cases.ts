import type { PlanSpec } from '@gateway/contracts/operator';
import { WINDOW_TYPES } from '@gateway/contracts/messages';
import type { AccountTerms } from '@gateway/contracts/messages';
import { formatUsd } from '@gateway/metering';
import type { ProviderBehaviour } from '../../test/counting-provider.js';
import type { TestAccount, TestOperator, TestPeriod } from '../../test/operator.js';

type Window = AccountTerms['windows'][number];

/** Worst case and charge of a call are one cent for any tokens. */
export const CENT = { inputPerMillion: '0', outputPerMillion: '0', perCall: '0.01' };
export const CENT_NANO_USD = 10_000_000n;

export interface LimitPlace {
  readonly operator: TestOperator;
  readonly model: string;
  /** Time of the limit store, epoch milliseconds. */
  readonly storeNowMs: number;
}

/**
 * Number of parallel calls that the limit admits: exactly `fit`; `fit` to `fit` plus the slots; a
 * number of concurrent calls; or a number per minute.
 */
export type LimitPromise = 'exact' | 'overshoot' | 'at_once' | 'per_minute';

/** One limit, and how to create an account that only this limit restricts. */
export interface LimitCase {
  readonly name: string;
  readonly promise: LimitPromise;
  /** Status and code of the limit's refusals. */
  readonly refusals: readonly string[];
  /** The reset that determines Retry-After. */
  readonly resets: 'minute' | 'slot' | Window['type'] | 'period' | null;
  /** The plan's window that counts the calls. */
  readonly window: Pick<Window, 'type' | 'unit'> | null;
  readonly provider: ProviderBehaviour;
  /** Creates an account and a key with room for `fit` calls of the model. */
  arrange(place: LimitPlace, fit: number): Promise<LimitedAccount>;
}

export interface LimitedAccount extends TestAccount {
  /** Null: the account never had credit. */
  readonly creditNanoUsd: bigint | null;
  readonly slots: number;
  /** Period of the subscription. */
  readonly period: TestPeriod | null;
}

/** Slots that no run exhausts, and slots that limit an overshoot or are the limit under test. */
const MANY_SLOTS = 5_000;
const FEW_SLOTS = 20;
const REQUESTS_PER_MINUTE_MAX = 1_000_000;
const RICH_NANO_USD = 1_000_000_000_000n;
const DAY_MS = 86_400_000;
/** Failed calls return their place while other calls compete for it. */
const SOME_FAIL: ProviderBehaviour = { delayMs: 5, failEvery: 10 };
/** Slow enough that all slots are taken, also on a busy machine. */
const SLOW: ProviderBehaviour = { delayMs: 200 };
const QUICK: ProviderBehaviour = {};

export const LIMIT_CASES: readonly LimitCase[] = [
  {
    name: 'requests per minute',
    promise: 'per_minute',
    refusals: ['429 rate_limited'],
    resets: 'minute',
    window: null,
    provider: QUICK,
    arrange: ({ operator }, fit) => payer(operator, RICH_NANO_USD, fit, MANY_SLOTS),
  },
  {
    name: 'slots',
    promise: 'at_once',
    refusals: ['429 concurrency_limit'],
    resets: 'slot',
    window: null,
    provider: SLOW,
    arrange: ({ operator }) => payer(operator, RICH_NANO_USD, REQUESTS_PER_MINUTE_MAX, FEW_SLOTS),
  },
  ...WINDOW_TYPES.flatMap((type) => [windowInRequests(type), windowInUsd(type)]),
  {
    name: 'model allotment in requests',
    promise: 'exact',
    refusals: ['429 model_limit_reached'],
    resets: 'period',
    window: null,
    provider: SOME_FAIL,
    arrange: (place, fit) =>
      subscriber(place, {
        modelAllotments: [{ modelId: place.model, unit: 'requests', limit: fit }],
        concurrency: MANY_SLOTS,
      }),
  },
  {
    name: 'model allotment in USD',
    promise: 'overshoot',
    refusals: ['429 model_limit_reached'],
    resets: 'period',
    window: null,
    provider: QUICK,
    arrange: (place, fit) =>
      subscriber(place, {
        modelAllotments: [{ modelId: place.model, unit: 'usd', limit: cents(fit) }],
        concurrency: FEW_SLOTS,
      }),
  },
  {
    name: 'cap of a key',
    promise: 'exact',
    refusals: ['403 monthly_spend_cap_exceeded'],
    resets: null,
    window: null,
    provider: SOME_FAIL,
    arrange: ({ operator }, fit) =>
      payer(operator, RICH_NANO_USD, REQUESTS_PER_MINUTE_MAX, MANY_SLOTS, { keyCapUsd: cents(fit) }),
  },
  {
    name: 'cap of a member',
    promise: 'exact',
    refusals: ['402 member_cap_reached'],
    resets: null,
    window: null,
    provider: SOME_FAIL,
    arrange: ({ operator }, fit) =>
      payer(operator, RICH_NANO_USD, REQUESTS_PER_MINUTE_MAX, MANY_SLOTS, { memberCapUsd: cents(fit) }),
  },
  {
    name: 'wallet',
    promise: 'exact',
    // After the last cent has settled, no funding is left.
    refusals: ['402 insufficient_credits', '402 no_funding'],
    resets: null,
    window: null,
    provider: SOME_FAIL,
    arrange: ({ operator }, fit) => payer(operator, BigInt(fit) * CENT_NANO_USD, REQUESTS_PER_MINUTE_MAX, MANY_SLOTS),
  },
];

/** @throws Error if no limit has this name */
export function limitCalled(name: string): LimitCase {
  const limit = LIMIT_CASES.find((one) => one.name === name);
  if (limit === undefined) throw new Error(`unknown limit ${name}`);
  return limit;
}

function windowInRequests(type: Window['type']): LimitCase {
  return {
    name: `${type} in requests`,
    promise: 'exact',
    refusals: ['429 window_exhausted'],
    resets: type,
    window: { type, unit: 'requests' },
    provider: SOME_FAIL,
    arrange: (place, fit) =>
      subscriber(place, { windows: [{ type, unit: 'requests', limit: fit }], concurrency: MANY_SLOTS }),
  };
}

function windowInUsd(type: Window['type']): LimitCase {
  return {
    name: `${type} in USD`,
    promise: 'overshoot',
    refusals: ['429 window_exhausted'],
    resets: type,
    window: { type, unit: 'usd' },
    provider: QUICK,
    arrange: (place, fit) =>
      subscriber(place, { windows: [{ type, unit: 'usd', limit: cents(fit) }], concurrency: FEW_SLOTS }),
  };
}

/** Creates a team account without a plan. */
async function payer(
  operator: TestOperator,
  creditNanoUsd: bigint,
  requestsPerMinute: number,
  slots: number,
  caps: { readonly keyCapUsd?: string; readonly memberCapUsd?: string } = {},
): Promise<LimitedAccount> {
  const { id, email, ownerMemberId } = await operator.emptyAccount('team');
  await operator.credit(id, formatUsd(creditNanoUsd));
  await operator.limits(id, requestsPerMinute, slots);
  if (caps.memberCapUsd !== undefined) {
    const owner = { email, emailVerified: true, role: 'owner', monthlySpendCapUsd: caps.memberCapUsd };
    await operator.must('PUT', `/accounts/${id}/members/${ownerMemberId}`, owner);
  }
  const key = await operator.key(id, caps.keyCapUsd === undefined ? {} : { capUsd: caps.keyCapUsd });
  return { account: id, ...key, creditNanoUsd, slots, period: null };
}

/** Creates an account with a plan and without credit. */
async function subscriber(
  { operator, storeNowMs }: LimitPlace,
  plan: Partial<PlanSpec> & { readonly concurrency: number },
): Promise<LimitedAccount> {
  const planId = await operator.plan({ requestsPerMinute: REQUESTS_PER_MINUTE_MAX, ...plan });
  const { id } = await operator.emptyAccount();
  // The period must contain the current time of billing and of the limit store.
  const period = { startMs: Date.now() - DAY_MS, endMs: storeNowMs + 29 * DAY_MS };
  await operator.subscribe(id, planId, period);
  return { account: id, ...(await operator.key(id)), creditNanoUsd: null, slots: plan.concurrency, period };
}

function cents(count: number): string {
  return formatUsd(BigInt(count) * CENT_NANO_USD);
}
