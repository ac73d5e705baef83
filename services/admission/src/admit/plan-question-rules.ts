import type { HoldFields } from '@gateway/contracts/messages';
import { WEEK_MS, allotmentRow, monthlyWindowRow, weekStart, weeklyWindowRow } from '@gateway/metering';
import type { WindowType, WindowUnit } from '@gateway/metering';
import type { RunningTerms, Validity } from '../limit-store/terms-rules.js';

/** A window or allotment with a balance name known before the script runs. Times in ms. */
export interface BalanceLimit {
  readonly type: WindowType;
  readonly unit: WindowUnit;
  readonly limit: number;
  readonly periodStart: number;
  readonly resetsAt: number;
  readonly row: string;
}

/** The limits of a plan that apply to a plan-funded call. */
export interface PlanLimits {
  /** Weekly and monthly windows. */
  readonly windows: readonly BalanceLimit[];
  /** Limits of the five-hour session. The script knows the session's start. */
  readonly session: readonly { readonly unit: WindowUnit; readonly limit: number }[];
  readonly allotment: Omit<BalanceLimit, 'type'> | null;
  readonly weekly: number;
  readonly subscription: NonNullable<RunningTerms['subscription']>;
  /** In the form that is sent with the hold. */
  readonly windowTypes: HoldFields['windows'];
  /** Valid within the week that contains `now`. */
  readonly validity: Validity;
}

export function buildPlanLimits(
  terms: RunningTerms,
  subscription: NonNullable<RunningTerms['subscription']>,
  model: string,
  now: number,
): PlanLimits {
  const weekly = weekStart(now);
  const windows: BalanceLimit[] = [];
  const session: { unit: WindowUnit; limit: number }[] = [];
  for (const { type, unit, limit } of terms.windows) {
    if (type === 'session_5h') session.push({ unit, limit });
    else windows.push({ type, unit, limit, ...periodOf(type, unit, weekly, subscription) });
  }
  const allotment = terms.allotments.find((candidate) => candidate.model === model);
  return {
    windows,
    session,
    allotment: allotment
      ? {
          unit: allotment.unit,
          limit: allotment.limit,
          periodStart: subscription.start,
          resetsAt: subscription.end,
          row: allotmentRow(allotment.unit, model, subscription.id),
        }
      : null,
    weekly,
    subscription,
    windowTypes: terms.windows.map(({ type, unit }) => ({ type, unit })),
    validity: { from: weekly, until: weekly + WEEK_MS },
  };
}

function periodOf(
  type: 'weekly' | 'monthly',
  unit: WindowUnit,
  weekly: number,
  subscription: NonNullable<RunningTerms['subscription']>,
): Pick<BalanceLimit, 'periodStart' | 'resetsAt' | 'row'> {
  if (type === 'weekly') {
    return { periodStart: weekly, resetsAt: weekly + WEEK_MS, row: weeklyWindowRow(unit, weekly) };
  }
  return { periodStart: subscription.start, resetsAt: subscription.end, row: monthlyWindowRow(unit, subscription.id) };
}
