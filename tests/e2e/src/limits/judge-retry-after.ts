import { MINUTE_MS, SESSION_5H_MS, WEEK_MS, minuteOf, weekStart } from '@gateway/metering';
import type { LimitCase, LimitedAccount } from './limit-cases.js';
import type { PressedCall } from './press-limit.js';

interface Span {
  readonly from: number;
  readonly until: number;
}

const SLOT_RETRY_SECONDS = 2;

/**
 * Returns the refusals with a wrong Retry-After: not the time until the reset, or present although
 * the limit has no reset.
 */
export function wrongRetryAfters(
  { resets }: LimitCase,
  account: LimitedAccount,
  seen: readonly PressedCall[],
  refusals: readonly PressedCall[],
): PressedCall[] {
  // The session began with a call after the first start, and before the end of the first response.
  const opened: Span = {
    from: earliest(seen.map(({ begunAtMs }) => begunAtMs)),
    until: earliest(seen.filter(({ answer }) => answer === '200').map(({ endedAtMs }) => endedAtMs)),
  };
  return refusals.filter((call) => {
    const seconds = secondsOf(resets, account, call, opened);
    if (seconds === null) return call.retryAfter !== null;
    return call.retryAfter === null || call.retryAfter < seconds.from || call.retryAfter > seconds.until;
  });
}

/** Returns the minimum. `Math.min(...)` fails for very long lists. */
export function earliest(times: readonly number[]): number {
  return times.reduce((least, time) => Math.min(least, time), Infinity);
}

/**
 * Returns the bounds of Retry-After in whole seconds, rounded up. The refusal was decided between
 * the start and the end of the call.
 */
function secondsOf(
  resets: LimitCase['resets'],
  { period }: LimitedAccount,
  { begunAtMs, endedAtMs }: PressedCall,
  opened: Span,
): Span | null {
  const between = (from: number, until: number): Span => ({
    from: Math.ceil((from - endedAtMs) / 1000),
    until: Math.ceil((until - begunAtMs) / 1000),
  });
  switch (resets) {
    case null:
      return null;
    case 'slot':
      return { from: SLOT_RETRY_SECONDS, until: SLOT_RETRY_SECONDS };
    case 'minute': {
      const [first, last] = [minuteOf(begunAtMs), minuteOf(endedAtMs)];
      if (first !== last) return { from: 1, until: MINUTE_MS / 1000 };
      return between((first + 1) * MINUTE_MS, (first + 1) * MINUTE_MS);
    }
    case 'session_5h':
      return between(opened.from + SESSION_5H_MS, opened.until + SESSION_5H_MS);
    case 'weekly':
      return between(weekStart(begunAtMs) + WEEK_MS, weekStart(endedAtMs) + WEEK_MS);
    case 'monthly':
    case 'period':
      return between(period?.endMs ?? 0, period?.endMs ?? 0);
  }
}
