const DAY_MS = 86_400_000;
const MONTHS_PER_YEAR = 12;

/**
 * A span of time in epoch milliseconds, [start, end), with the day of the month that it goes by, if
 * that is known.
 */
export interface CalendarSpan {
  readonly start: number;
  readonly end: number;
  readonly anchorDay: number | null;
}

/**
 * The day of the month (1 to 31, UTC) on which a span of whole months begins and ends, where
 * shorter months have their last day in its place; null when the span is no number of whole months.
 * 31 January to 28 February goes by the 31st.
 */
export function anchorDayOf(start: number, end: number): number | null {
  if (end <= start || timeOfDay(start) !== timeOfDay(end) || monthIndex(start) === monthIndex(end)) return null;
  const day = Math.max(dayOf(start), dayOf(end));
  return isOnDay(start, day) && isOnDay(end, day) ? day : null;
}

/**
 * The span of the same length `count` lengths after one (1: the next), in whole months when that
 * one is: the next of 31 January to 28 February ends on 31 March. Spans follow each other without
 * gap or overlap.
 */
export function spanAfter(span: CalendarSpan, count: number): CalendarSpan {
  const { start, end } = span;
  const day = anchorOf(span);
  if (day === null) {
    const length = end - start;
    return { start: end + (count - 1) * length, end: end + count * length, anchorDay: null };
  }
  const months = monthIndex(end) - monthIndex(start);
  return {
    start: onMonth(end, monthIndex(end) + (count - 1) * months, day),
    end: onMonth(end, monthIndex(end) + count * months, day),
    anchorDay: day,
  };
}

/** The first span after one that ends after `now`. */
export function spanReaching(span: CalendarSpan, now: number): CalendarSpan {
  const months = anchorOf(span) === null ? 0 : monthIndex(span.end) - monthIndex(span.start);
  const passed = Math.max(0, now - span.end);
  // A first guess that is never too far; months are at most 31 days long.
  let count = 1 + Math.floor(passed / (months === 0 ? span.end - span.start : months * 31 * DAY_MS));
  for (;;) {
    const next = spanAfter(span, count);
    if (next.end > now) return next;
    count += 1;
  }
}

function anchorOf({ start, end, anchorDay }: CalendarSpan): number | null {
  if (anchorDay !== null && isOnDay(start, anchorDay) && isOnDay(end, anchorDay)) {
    return timeOfDay(start) === timeOfDay(end) && monthIndex(end) > monthIndex(start) ? anchorDay : null;
  }
  return anchorDayOf(start, end);
}

/**
 * The day and time of day that `ms` has, in another month; a day that the month lacks is its last.
 */
function onMonth(ms: number, month: number, day: number): number {
  const year = Math.floor(month / MONTHS_PER_YEAR);
  const inYear = month % MONTHS_PER_YEAR;
  return Date.UTC(year, inYear, Math.min(day, daysOf(month))) + timeOfDay(ms);
}

function isOnDay(ms: number, day: number): boolean {
  return dayOf(ms) === Math.min(day, daysOf(monthIndex(ms)));
}

/** Months since the year 0. */
function monthIndex(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * MONTHS_PER_YEAR + date.getUTCMonth();
}

function daysOf(month: number): number {
  return new Date(Date.UTC(Math.floor(month / MONTHS_PER_YEAR), (month % MONTHS_PER_YEAR) + 1, 0)).getUTCDate();
}

function dayOf(ms: number): number {
  return new Date(ms).getUTCDate();
}

function timeOfDay(ms: number): number {
  return ms % DAY_MS;
}
