import { SESSION_5H_MS, WEEK_MS, weekStart } from './calendar.js';
import { maxAmount, minAmount } from './money.js';

/** The usage windows of a plan. */
export type WindowType = 'session_5h' | 'weekly' | 'monthly';
/** The unit of a window: nano-USD or calls. */
export type WindowUnit = 'usd' | 'requests';

/** A paid period of a subscription, [start, end) in ms since the epoch. Its ID has no `:`. */
export interface SubscriptionPeriod {
  id: string;
  start: number;
  end: number;
}

/** The periods of a call, fixed at admission (docs/behaviour.md#windows). */
export interface Periods {
  /** Calendar month, `YYYY-MM`. */
  month: string;
  /** Start of the open session in ms; `null` if none is open, and for wallet-funded calls. */
  session5h: number | null;
  /** Monday 00:00 UTC in ms; `null` for wallet-funded calls. */
  weekly: number | null;
  /** `null` without a plan. */
  subscription: SubscriptionPeriod | null;
}

/** A window as shown by the usage endpoint, in nano-USD or calls. */
export interface WindowView {
  limit: bigint;
  used: bigint;
  /** At least 0. */
  remaining: bigint;
  /** 0 to 100, rounded down; 100 only if the window is used up. */
  percentUsed: number;
}

/**
 * Returns the time at which a window resets (specification, usage window reset timing): 5 h after
 * the session opened, the next Monday 00:00 UTC, or the end of the subscription period. A session
 * that is not open or has ended gives 5 h from now.
 * @throws RangeError for `monthly` without a subscription period
 */
export function windowResetsAt(type: WindowType, periods: Omit<Periods, 'month'>, now: number): number {
  switch (type) {
    case 'session_5h': {
      const end = periods.session5h === null ? now : periods.session5h + SESSION_5H_MS;
      return end > now ? end : now + SESSION_5H_MS;
    }
    case 'weekly':
      return (periods.weekly ?? weekStart(now)) + WEEK_MS;
    case 'monthly':
      if (periods.subscription === null) throw new RangeError('a monthly window needs a subscription period');
      return periods.subscription.end;
  }
}

/**
 * Compares a window's settled use with its limit. A use above the limit is shown unchanged, with 0
 * remaining and 100 percent.
 */
export function windowView(limit: bigint, used: bigint): WindowView {
  const counted = maxAmount(0n, used);
  return {
    limit,
    used: counted,
    remaining: maxAmount(0n, limit - counted),
    percentUsed: limit > 0n ? Number(minAmount(100n, (counted * 100n) / limit)) : 100,
  };
}
