import type { AccountTerms } from '@gateway/contracts/messages';
import type { LimitsSpec } from '@gateway/contracts/operator';
import type { NanoUsd, WindowType, WindowUnit } from '@gateway/metering';

/** What a version of a plan grants; immutable once written. Limits in the unit beside them. */
export interface PlanSpec {
  readonly name: string;
  readonly tier: string;
  /** Null: every model. */
  readonly models: readonly string[] | null;
  readonly requestsPerMinute: number;
  readonly concurrency: number;
  readonly windows: readonly { type: WindowType; unit: WindowUnit; limit: bigint; label: string }[];
  readonly allotments: readonly { model: string; unit: WindowUnit; limit: bigint }[];
  readonly defaultKeyCapNanoUsd: NanoUsd | null;
  readonly activeKeysMax: number;
}

/** A subscription period with the plan version that it keeps. Times are epoch milliseconds, [start, end). */
export interface Subscription {
  readonly id: string;
  readonly start: number;
  readonly end: number;
  readonly planId: string;
  readonly plan: PlanSpec;
}

/** What an operator set for one account in place of its plan's values or the defaults; null: nothing. */
export interface LimitOverrides {
  readonly requestsPerMinute: number | null;
  readonly concurrency: number | null;
  readonly activeKeysMax: number | null;
}

export const NO_OVERRIDES: LimitOverrides = { requestsPerMinute: null, concurrency: null, activeKeysMax: null };

/** Account defaults without a plan (behaviour §1). */
export const REQUESTS_PER_MINUTE_DEFAULT = 60;
export const CONCURRENCY_DEFAULT = 3;
export const ACTIVE_KEYS_DEFAULT = 3;

/** The terms under which an account is admitted; `subscription` is the one that runs, null without. */
export function composeTerms(subscription: Subscription | null, limits: LimitOverrides): AccountTerms {
  const terms = termsOfPlan(subscription);
  return {
    ...terms,
    requestsPerMinute: limits.requestsPerMinute ?? terms.requestsPerMinute,
    concurrency: limits.concurrency ?? terms.concurrency,
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

function termsOfPlan(subscription: Subscription | null): AccountTerms {
  if (subscription === null) {
    return {
      plan: null,
      requestsPerMinute: REQUESTS_PER_MINUTE_DEFAULT,
      concurrency: CONCURRENCY_DEFAULT,
      models: [],
      windows: [],
      allotments: [],
      subscription: null,
    };
  }
  const { id, start, end, planId, plan } = subscription;
  return {
    plan: { id: planId, name: plan.name, tier: plan.tier },
    requestsPerMinute: plan.requestsPerMinute,
    concurrency: plan.concurrency,
    models: plan.models === null ? null : [...plan.models],
    windows: plan.windows.map((window) => ({ ...window, limit: Number(window.limit) })),
    allotments: plan.allotments.map((allotment) => ({ ...allotment, limit: Number(allotment.limit) })),
    subscription: { id, start, end },
  };
}
