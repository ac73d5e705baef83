import { type AccountTerms, LIMIT_DEFAULTS, TERMS_WITHOUT_PLAN } from '@gateway/contracts/messages';
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

/** The subscription periods that admission gets; the next one begins after the current one. */
export interface PublishedSubscriptions {
  readonly current: Subscription | null;
  readonly next: Subscription | null;
}

/** Returns the terms of an account for both periods, and for the time without a period. */
export function composeTerms({ current, next }: PublishedSubscriptions, limits: LimitOverrides): AccountTerms {
  const withoutPlan = {
    requestsPerMinute: limits.requestsPerMinute ?? TERMS_WITHOUT_PLAN.requestsPerMinute,
    concurrency: limits.concurrency ?? TERMS_WITHOUT_PLAN.concurrency,
  };
  return {
    ...(current === null ? { ...TERMS_WITHOUT_PLAN, ...withoutPlan } : composePeriodTerms(current, limits)),
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
  return limits.activeKeysMax ?? subscription?.plan.activeKeysMax ?? LIMIT_DEFAULTS.maxActiveKeys;
}

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
