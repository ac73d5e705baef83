import type { AccountTerms } from '@gateway/contracts/messages';
import type { LimitsSpec } from '@gateway/contracts/operator';
import type { PlanSpec } from '../plans/rules.js';

/**
 * A subscription period with the plan version that it keeps. Times are epoch milliseconds, [start,
 * end).
 */
export interface Subscription {
  readonly id: string;
  readonly start: number;
  readonly end: number;
  readonly planId: string;
  readonly plan: PlanSpec;
}

/**
 * What an operator set for one account in place of its plan's values or the defaults; null:
 * nothing.
 */
export interface LimitOverrides {
  readonly requestsPerMinute: number | null;
  readonly concurrency: number | null;
  readonly activeKeysMax: number | null;
}

export const NO_OVERRIDES: LimitOverrides = { requestsPerMinute: null, concurrency: null, activeKeysMax: null };

/** Account defaults without a plan (docs/behaviour.md#order-of-refusals). */
export const REQUESTS_PER_MINUTE_DEFAULT = 60;
export const CONCURRENCY_DEFAULT = 3;
export const ACTIVE_KEYS_DEFAULT = 3;

/**
 * The subscription periods that admission is told of; the next one begins after the current one.
 */
export interface PublishedSubscriptions {
  readonly current: Subscription | null;
  readonly next: Subscription | null;
}

/** The terms under which an account is admitted, in both periods and outside them. */
export function composeTerms({ current, next }: PublishedSubscriptions, limits: LimitOverrides): AccountTerms {
  const withoutPlan = {
    requestsPerMinute: limits.requestsPerMinute ?? REQUESTS_PER_MINUTE_DEFAULT,
    concurrency: limits.concurrency ?? CONCURRENCY_DEFAULT,
  };
  return {
    ...(current === null ? { ...NO_PLAN, ...withoutPlan } : termsOfPeriod(current, limits)),
    ...(next !== null && { next: termsOfPeriod(next, limits) }),
    ...((current !== null || next !== null) && { withoutPlan }),
  };
}

/** Overrides as operators see and put them. */
export function toLimitsView({ requestsPerMinute, concurrency, activeKeysMax }: LimitOverrides): LimitsSpec {
  return { requestsPerMinute, concurrency, maxActiveKeys: activeKeysMax };
}

/** How many active keys the account may have. */
export function activeKeysMaxOf(subscription: Subscription | null, limits: LimitOverrides): number {
  return limits.activeKeysMax ?? subscription?.plan.activeKeysMax ?? ACTIVE_KEYS_DEFAULT;
}

const NO_PLAN = { plan: null, models: [], windows: [], allotments: [], subscription: null };

function termsOfPeriod({ id, start, end, planId, plan }: Subscription, limits: LimitOverrides) {
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
