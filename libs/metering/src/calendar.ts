/** All times are milliseconds since the epoch, UTC, in the years 1970 to 9999. */
export const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
export const WEEK_MS = 7 * DAY_MS;
/** Length of a `session_5h` window. */
export const SESSION_5H_MS = 5 * 60 * MINUTE_MS;

/** The epoch was a Thursday; its week began three days earlier. */
const EPOCH_AFTER_MONDAY_MS = 3 * DAY_MS;
const MONTH_TEXT = /^(?:19[7-9][0-9]|[2-9][0-9]{3})-(?:0[1-9]|1[0-2])$/;

/**
 * Returns the calendar month, for example `2026-11`.
 * @throws RangeError for a time outside the years 1970 to 9999
 */
export function monthOf(ms: number): string {
  const month = new Date(ms).toISOString().slice(0, 7);
  if (!isMonth(month)) throw new RangeError(`not a time of the years 1970 to 9999: ${ms}`);
  return month;
}

/**
 * Returns the first millisecond of a month.
 * @throws RangeError for a text that is not `YYYY-MM` of the years 1970 to 9999
 */
export function monthStart(month: string): number {
  const [year, number] = yearAndMonth(month);
  return Date.UTC(year, number - 1, 1);
}

/**
 * Returns the first millisecond after a month.
 * @throws RangeError as {@link monthStart}
 */
export function monthEnd(month: string): number {
  const [year, number] = yearAndMonth(month);
  return Date.UTC(year, number, 1);
}

/** Returns the Monday 00:00 of the week. */
export function weekStart(ms: number): number {
  return Math.floor((ms + EPOCH_AFTER_MONDAY_MS) / WEEK_MS) * WEEK_MS - EPOCH_AFTER_MONDAY_MS;
}

/** Returns the number of the clock minute since the epoch, which names a minute bucket. */
export function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}

/** Returns the seconds until the clock minute ends, rounded up: 1 to 60. */
export function secondsLeftInMinute(ms: number): number {
  return secondsUntil(ms, (minuteOf(ms) + 1) * MINUTE_MS);
}

/**
 * Returns the seconds from `now` to `then` for a Retry-After header, rounded up; 1 if `then` is not
 * later than `now`.
 */
export function secondsUntil(now: number, then: number): number {
  return Math.max(1, Math.ceil((then - now) / 1000));
}

/** Reports whether a text is a month as {@link monthOf} writes it. */
export function isMonth(text: string): boolean {
  return MONTH_TEXT.test(text);
}

function yearAndMonth(month: string): [year: number, month: number] {
  if (!isMonth(month)) throw new RangeError(`not a month of the years 1970 to 9999: ${month}`);
  return [Number(month.slice(0, 4)), Number(month.slice(5))];
}
