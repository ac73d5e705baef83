const DAY_MS = 86_400_000;
const MONTHS_PER_YEAR = 12;

/** [start, end) in epoch milliseconds; it renews on `anchorDay` of the month (null: unknown). */
export interface CalendarSpan {
  readonly start: number;
  readonly end: number;
  readonly anchorDay: number | null;
}

/**
 * Returns the day of the month (1 to 31, UTC) on which a span of whole months begins and ends; null
 * if the span is not a number of whole months. Shorter months use their last day: 31 January to 28
 * February has the day 31.
 */
export function computeAnchorDay(start: number, end: number): number | null {
  if (end <= start || timeOfDay(start) !== timeOfDay(end) || monthIndex(start) === monthIndex(end)) return null;
  const day = Math.max(dayOf(start), dayOf(end));
  return isOnDay(start, day) && isOnDay(end, day) ? day : null;
}

/**
 * Returns the span that is `count` lengths later (1: the next one), in whole months if the given
 * span has whole months: the span after 31 January to 28 February ends on 31 March. Consecutive
 * spans have no gap and no overlap.
 */
export function computeSpanAfter(span: CalendarSpan, count: number): CalendarSpan {
  const { start, end } = span;
  const day = findAnchorDay(span);
  if (day === null) {
    const length = end - start;
    return { start: end + (count - 1) * length, end: end + count * length, anchorDay: null };
  }
  const months = monthIndex(end) - monthIndex(start);
  return {
    start: moveToMonth(end, monthIndex(end) + (count - 1) * months, day),
    end: moveToMonth(end, monthIndex(end) + count * months, day),
    anchorDay: day,
  };
}

/** Returns the first later span that ends after `now`. */
export function computeSpanReaching(span: CalendarSpan, now: number): CalendarSpan {
  const months = findAnchorDay(span) === null ? 0 : monthIndex(span.end) - monthIndex(span.start);
  const passed = Math.max(0, now - span.end);
  // A lower bound for the count, because months have at most 31 days.
  let count = 1 + Math.floor(passed / (months === 0 ? span.end - span.start : months * 31 * DAY_MS));
  for (;;) {
    const next = computeSpanAfter(span, count);
    if (next.end > now) return next;
    count += 1;
  }
}

function findAnchorDay({ start, end, anchorDay }: CalendarSpan): number | null {
  if (anchorDay !== null && isOnDay(start, anchorDay) && isOnDay(end, anchorDay)) {
    return timeOfDay(start) === timeOfDay(end) && monthIndex(end) > monthIndex(start) ? anchorDay : null;
  }
  return computeAnchorDay(start, end);
}

/** Moves `ms` to another month, with the same time of day; uses the last day of a shorter month. */
function moveToMonth(ms: number, month: number, day: number): number {
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
