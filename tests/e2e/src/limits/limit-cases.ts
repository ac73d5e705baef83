import type { PlanSpec } from '@gateway/contracts/operator';
import { WINDOW_TYPES } from '@gateway/contracts/messages';
import type { AccountTerms } from '@gateway/contracts/messages';
import { formatUsd } from '@gateway/metering';
import { CENT_NANO_USD } from '../../test/prices.js';
import type { ProviderBehaviour } from '../../test/counting-provider.js';
import type { TestAccount, TestOperator, TestPeriod } from '../../test/operator.js';

type Window = AccountTerms['windows'][number];

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
  readonly refusals: readonly string[];
  readonly resets: 'minute' | 'slot' | Window['type'] | 'period' | null;
  readonly window: Pick<Window, 'type' | 'unit'> | null;
  readonly provider: ProviderBehaviour;
  /** Creates an account and a key with room for `fit` calls of the model. */
  arrange(place: LimitPlace, fit: number): Promise<LimitedAccount>;
}

export interface LimitedAccount extends TestAccount {
  /** Null: the account never had credit. */
  readonly creditNanoUsd: bigint | null;
  readonly slots: number;
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
/** Only completed requests count, so requests that run concurrently exceed the limit. */
const OVERSHOOT = { promise: 'overshoot', provider: QUICK } as const;

export const LIMIT_CASES: readonly LimitCase[] = [
  limit('requests per minute', '429 rate_limited', 'minute', (place, fit) => payer(place, { requestsPerMinute: fit }), {
    promise: 'per_minute',
    provider: QUICK,
  }),
  limit('slots', '429 concurrency_limit', 'slot', (place) => payer(place, { slots: FEW_SLOTS }), {
    promise: 'at_once',
    provider: SLOW,
  }),
  ...WINDOW_TYPES.flatMap((type) => [
    limit(
      `${type} in requests`,
      '429 window_exhausted',
      type,
      (place, fit) => subscriber(place, { windows: [{ type, unit: 'requests', limit: fit }] }),
      { window: { type, unit: 'requests' } },
    ),
    limit(
      `${type} in USD`,
      '429 window_exhausted',
      type,
      (place, fit) => subscriber(place, { windows: [{ type, unit: 'usd', limit: cents(fit) }] }, FEW_SLOTS),
      { ...OVERSHOOT, window: { type, unit: 'usd' } },
    ),
  ]),
  limit('model allotment in requests', '429 model_limit_reached', 'period', (place, fit) =>
    subscriber(place, { modelAllotments: [{ modelId: place.model, unit: 'requests', limit: fit }] }),
  ),
  limit(
    'model allotment in USD',
    '429 model_limit_reached',
    'period',
    (place, fit) =>
      subscriber(place, { modelAllotments: [{ modelId: place.model, unit: 'usd', limit: cents(fit) }] }, FEW_SLOTS),
    OVERSHOOT,
  ),
  limit('cap of a key', '403 monthly_spend_cap_exceeded', null, (place, fit) =>
    payer(place, { keyCapUsd: cents(fit) }),
  ),
  limit('cap of a member', '402 member_cap_reached', null, (place, fit) => payer(place, { memberCapUsd: cents(fit) })),
  limit(
    'wallet',
    '402 insufficient_credits',
    null,
    (place, fit) => payer(place, { creditNanoUsd: BigInt(fit) * CENT_NANO_USD }),
    // After the last cent has settled, no funding is left.
    { refusals: ['402 insufficient_credits', '402 no_funding'] },
  ),
];

/** Creates a limit that admits exactly what fits, unless `more` has another promise. */
function limit(
  name: string,
  refusal: string,
  resets: LimitCase['resets'],
  arrange: LimitCase['arrange'],
  more: Partial<LimitCase> = {},
): LimitCase {
  const usual = { promise: 'exact', refusals: [refusal], window: null, provider: SOME_FAIL } as const;
  return { name, resets, arrange, ...usual, ...more };
}

export function limitCalled(name: string): LimitCase {
  const limit = LIMIT_CASES.find((one) => one.name === name);
  if (limit === undefined) throw new Error(`unknown limit ${name}`);
  return limit;
}

interface PayerLimits {
  readonly creditNanoUsd?: bigint;
  readonly requestsPerMinute?: number;
  readonly slots?: number;
  readonly keyCapUsd?: string;
  readonly memberCapUsd?: string;
}

/** Creates a team account without a plan. Limits that are not given have no effect. */
async function payer({ operator }: LimitPlace, limits: PayerLimits): Promise<LimitedAccount> {
  const { creditNanoUsd = RICH_NANO_USD, slots = MANY_SLOTS, keyCapUsd, memberCapUsd } = limits;
  const { id, email, ownerMemberId } = await operator.emptyAccount('team');
  await operator.credit(id, formatUsd(creditNanoUsd));
  await operator.limits(id, limits.requestsPerMinute ?? REQUESTS_PER_MINUTE_MAX, slots);
  if (memberCapUsd !== undefined) {
    const owner = { email, emailVerified: true, role: 'owner', monthlySpendCapUsd: memberCapUsd };
    await operator.must('PUT', `/accounts/${id}/members/${ownerMemberId}`, owner);
  }
  const key = await operator.key(id, keyCapUsd === undefined ? {} : { capUsd: keyCapUsd });
  return { account: id, ...key, creditNanoUsd, slots, period: null };
}

/** Creates an account with a plan and without credit. */
async function subscriber(
  { operator, storeNowMs }: LimitPlace,
  plan: Partial<PlanSpec>,
  slots = MANY_SLOTS,
): Promise<LimitedAccount> {
  const limits = { requestsPerMinute: REQUESTS_PER_MINUTE_MAX, concurrency: slots };
  const planId = await operator.plan({ ...limits, ...plan });
  const { id } = await operator.emptyAccount();
  // The period must contain the current time of billing and of the limit store.
  const period = { startMs: Date.now() - DAY_MS, endMs: storeNowMs + 29 * DAY_MS };
  await operator.subscribe(id, planId, period);
  return { account: id, ...(await operator.key(id)), creditNanoUsd: null, slots, period };
}

function cents(count: number): string {
  return formatUsd(BigInt(count) * CENT_NANO_USD);
}
