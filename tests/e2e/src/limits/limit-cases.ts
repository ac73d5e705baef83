import type { PlanSpec } from '@gateway/contracts/operator';
import { WINDOW_TYPES, type AccountTerms } from '@gateway/contracts/messages';
import { formatUsd } from '@gateway/metering';
import { CENT_NANO_USD } from '../../test/prices.js';
import type { ProviderBehaviour } from '../../test/counting-provider.js';
import type { TestAccount, TestOperator, TestPeriod } from '../../test/operator.js';

type Window = AccountTerms['windows'][number];

/** Terms of an account. Limits that are absent have no effect. */
interface Terms {
  /** Absent: the wallet pays. */
  readonly plan?: Partial<PlanSpec>;
  readonly creditNanoUsd?: bigint;
  readonly requestsPerMinute?: number;
  readonly slots?: number;
  readonly keyCapUsd?: string;
  readonly memberCapUsd?: string;
}

/** One limit, and the terms of an account that only this limit restricts. */
export interface LimitCase {
  readonly name: string;
  /**
   * Number of parallel calls that the limit admits: exactly `fit`; `fit` to `fit` plus the slots; a
   * number of concurrent calls; or a number per minute.
   */
  readonly promise: 'exact' | 'overshoot' | 'at_once' | 'per_minute';
  readonly refusals: readonly string[];
  readonly resets: 'minute' | 'slot' | Window['type'] | 'period' | null;
  readonly window: Pick<Window, 'type' | 'unit'> | null;
  readonly provider: ProviderBehaviour;
  /** Returns terms with room for `fit` calls of the model. */
  terms(fit: number, modelId: string): Terms;
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

const cents = (count: number): string => formatUsd(BigInt(count) * CENT_NANO_USD);

/** Creates a limit that admits exactly what fits, unless `more` has another promise. */
function limit(
  name: string,
  refusal: string,
  resets: LimitCase['resets'],
  terms: LimitCase['terms'],
  more: Partial<LimitCase> = {},
): LimitCase {
  return { name, resets, terms, promise: 'exact', refusals: [refusal], window: null, provider: SOME_FAIL, ...more };
}

export const LIMIT_CASES: readonly LimitCase[] = [
  limit('requests per minute', '429 rate_limited', 'minute', (fit) => ({ requestsPerMinute: fit }), {
    promise: 'per_minute',
    provider: QUICK,
  }),
  limit('slots', '429 concurrency_limit', 'slot', () => ({ slots: FEW_SLOTS }), { promise: 'at_once', provider: SLOW }),
  ...WINDOW_TYPES.flatMap((type) => {
    const requests = { type, unit: 'requests' } as const;
    const usd = { type, unit: 'usd' } as const;
    const inRequests = (fit: number): Terms => ({ plan: { windows: [{ ...requests, limit: fit }] } });
    const inUsd = (fit: number): Terms => ({ plan: { windows: [{ ...usd, limit: cents(fit) }] }, slots: FEW_SLOTS });
    return [
      limit(`${type} in requests`, '429 window_exhausted', type, inRequests, { window: requests }),
      limit(`${type} in USD`, '429 window_exhausted', type, inUsd, { ...OVERSHOOT, window: usd }),
    ];
  }),
  limit('model allotment in requests', '429 model_limit_reached', 'period', (fit, modelId) => ({
    plan: { modelAllotments: [{ modelId, unit: 'requests', limit: fit }] },
  })),
  limit(
    'model allotment in USD',
    '429 model_limit_reached',
    'period',
    (fit, modelId) => ({ plan: { modelAllotments: [{ modelId, unit: 'usd', limit: cents(fit) }] }, slots: FEW_SLOTS }),
    OVERSHOOT,
  ),
  limit('cap of a key', '403 monthly_spend_cap_exceeded', null, (fit) => ({ keyCapUsd: cents(fit) })),
  limit('cap of a member', '402 member_cap_reached', null, (fit) => ({ memberCapUsd: cents(fit) })),
  limit('wallet', '402 insufficient_credits', null, (fit) => ({ creditNanoUsd: BigInt(fit) * CENT_NANO_USD }), {
    // After the last cent has settled, no funding is left.
    refusals: ['402 insufficient_credits', '402 no_funding'],
  }),
];

export function limitCalled(name: string): LimitCase {
  const limit = LIMIT_CASES.find((one) => one.name === name);
  if (limit === undefined) throw new Error(`unknown limit ${name}`);
  return limit;
}

/**
 * Creates an account and a key: with a plan and without credit, or a team with credit and without a
 * plan.
 *
 * @param storeNowMs time of the limit store, epoch milliseconds
 */
export async function createAccount(operator: TestOperator, terms: Terms, storeNowMs: number): Promise<LimitedAccount> {
  const { plan, creditNanoUsd = RICH_NANO_USD, slots = MANY_SLOTS, keyCapUsd, memberCapUsd } = terms;
  const { requestsPerMinute = REQUESTS_PER_MINUTE_MAX } = terms;
  if (plan !== undefined) {
    const planId = await operator.plan({ requestsPerMinute, concurrency: slots, ...plan });
    const { id } = await operator.emptyAccount();
    // The period must contain the current time of billing and of the limit store.
    const period = { startMs: Date.now() - DAY_MS, endMs: storeNowMs + 29 * DAY_MS };
    await operator.subscribe(id, planId, period);
    return { account: id, ...(await operator.key(id)), creditNanoUsd: null, slots, period };
  }
  const { id, email, ownerMemberId } = await operator.emptyAccount('team');
  await operator.credit(id, formatUsd(creditNanoUsd));
  await operator.limits(id, requestsPerMinute, slots);
  if (memberCapUsd !== undefined) {
    const owner = { email, emailVerified: true, role: 'owner', monthlySpendCapUsd: memberCapUsd };
    await operator.must('PUT', `/accounts/${id}/members/${ownerMemberId}`, owner);
  }
  const key = await operator.key(id, keyCapUsd === undefined ? {} : { capUsd: keyCapUsd });
  return { account: id, ...key, creditNanoUsd, slots, period: null };
}
