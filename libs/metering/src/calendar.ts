/** All times are milliseconds since the epoch, UTC, within the years 1970 to 9999. */
export const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
export const WEEK_MS = 7 * DAY_MS;
/** Length of a `session_5h` window. */
export const SESSION_5H_MS = 5 * 60 * MINUTE_MS;

/** The epoch was a Thursday: its week began three days before. */
const EPOCH_AFTER_MONDAY_MS = 3 * DAY_MS;
const MONTH_TEXT = /^(?:19[7-9][0-9]|[2-9][0-9]{3})-(?:0[1-9]|1[0-2])$/;

/**
 * The calendar month, as `2026-11`. @throws RangeError for a time outside the years 1970 to 9999
 */
export function monthOf(ms: number): string {
  const month = new Date(ms).toISOString().slice(0, 7);
  if (!isMonth(month)) throw new RangeError(`not a time of the years 1970 to 9999: ${ms}`);
  return month;
}

/**
 * First millisecond of a month. @throws RangeError for a text that is not `YYYY-MM` of the years
 * 1970 to 9999
 */
export function monthStart(month: string): number {
  const [year, number] = yearAndMonth(month);
  return Date.UTC(year, number - 1, 1);
}

/** First millisecond after a month. @throws RangeError as {@link monthStart} */
export function monthEnd(month: string): number {
  const [year, number] = yearAndMonth(month);
  return Date.UTC(year, number, 1);
}

/** Monday 00:00 of the week. */
export function weekStart(ms: number): number {
  return Math.floor((ms + EPOCH_AFTER_MONDAY_MS) / WEEK_MS) * WEEK_MS - EPOCH_AFTER_MONDAY_MS;
}

/** Number of the clock minute since the epoch: the name of a minute bucket. */
export function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}

/** Seconds until the clock minute ends, rounded up: 1 to 60. */
export function secondsLeftInMinute(ms: number): number {
  return secondsUntil(ms, (minuteOf(ms) + 1) * MINUTE_MS);
}

/**
 * Seconds from one time to another for a Retry-After, rounded up; 1 when the time has come or has
 * passed.
 */
export function secondsUntil(now: number, then: number): number {
  return Math.max(1, Math.ceil((then - now) / 1000));
}

/** Whether a text is a month as {@link monthOf} writes it. */
export function isMonth(text: string): boolean {
  return MONTH_TEXT.test(text);
}

function yearAndMonth(month: string): [year: number, month: number] {
  if (!isMonth(month)) throw new RangeError(`not a month of the years 1970 to 9999: ${month}`);
  return [Number(month.slice(0, 4)), Number(month.slice(5))];
}
