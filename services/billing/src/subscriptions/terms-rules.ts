import type { AccountTerms } from '@gateway/contracts/messages';
import type { LimitsSpec } from '@gateway/contracts/operator';
import type { PlanSpec } from '../plans/rules.js';

/** A subscription period with its plan version. Times are epoch milliseconds, [start, end). */
export interface Subscription {
  readonly id: string;
  readonly start: number;
  readonly end: number;
  readonly planId: string;
  readonly plan: PlanSpec;
}

/** An operator's values for one account instead of its plan's or the default; null: unset. */
export interface LimitOverrides {
  readonly requestsPerMinute: number | null;
  readonly concurrency: number | null;
  readonly activeKeysMax: number | null;
}

export const NO_OVERRIDES: LimitOverrides = { requestsPerMinute: null, concurrency: null, activeKeysMax: null };

/** Defaults for an account without a plan (docs/behaviour.md#order-of-refusals). */
export const REQUESTS_PER_MINUTE_DEFAULT = 60;
export const CONCURRENCY_DEFAULT = 3;
export const ACTIVE_KEYS_DEFAULT = 3;

/** The subscription periods that admission gets; the next one begins after the current one. */
export interface PublishedSubscriptions {
  readonly current: Subscription | null;
  readonly next: Subscription | null;
}

/** Returns the terms of an account for both periods, and for the time without a period. */
export function composeTerms({ current, next }: PublishedSubscriptions, limits: LimitOverrides): AccountTerms {
  const withoutPlan = {
    requestsPerMinute: limits.requestsPerMinute ?? REQUESTS_PER_MINUTE_DEFAULT,
    concurrency: limits.concurrency ?? CONCURRENCY_DEFAULT,
  };
  return {
    ...(current === null ? { ...NO_PLAN, ...withoutPlan } : composePeriodTerms(current, limits)),
    ...(next !== null && { next: composePeriodTerms(next, limits) }),
    ...((current !== null || next !== null) && { withoutPlan }),
  };
}

/** Converts overrides to the operators' view. */
export function toLimitsView({ requestsPerMinute, concurrency, activeKeysMax }: LimitOverrides): LimitsSpec {
  return { requestsPerMinute, concurrency, maxActiveKeys: activeKeysMax };
}

/** Returns the maximum of active keys for the account. */
export function computeActiveKeysMax(subscription: Subscription | null, limits: LimitOverrides): number {
  return limits.activeKeysMax ?? subscription?.plan.activeKeysMax ?? ACTIVE_KEYS_DEFAULT;
}

const NO_PLAN = { plan: null, models: [], windows: [], allotments: [], subscription: null };

function composePeriodTerms({ id, start, end, planId, plan }: Subscription, limits: LimitOverrides) {
  return {
    plan: { id: planId, name: plan.name, tier: plan.tier },
    requestsPerMinute: limits.requestsPerMinute ?? plan.requestsPerMinute,
    concurrency: limits.concurrency ?? plan.concurrency,
    models: plan.models === null ? null : [...plan.models],
    windows: plan.windows.map((window) => ({ ...window, limit: Number(window.limit) })),
    allotments: plan.allotments.map((allotment) => ({ ...allotment, limit: Number(allotment.limit) })),
    subscription: { id, start, end },
  };
}
