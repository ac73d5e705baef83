/** Longest Retry-After of a provider that is passed on: a longer one is cut. */
export const RETRY_AFTER_SECONDS_MAX = 7 * 86_400;

/**
 * Whole seconds of a Retry-After header, in seconds (fractions are rounded up) or as an HTTP date;
 * at least 1 and at most {@link RETRY_AFTER_SECONDS_MAX}. Undefined when absent or neither of the
 * two.
 */
export function retryAfterSeconds(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  const seconds = /^\d{1,10}(?:\.\d{1,10})?$/.test(text) ? Number(text) : secondsUntilDate(text, nowMs);
  return Number.isNaN(seconds) ? undefined : Math.min(RETRY_AFTER_SECONDS_MAX, Math.max(1, Math.ceil(seconds)));
}

/** The three forms of an HTTP date; anything else that `Date.parse` would guess at is none. */
const HTTP_DATE =
  /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

function secondsUntilDate(text: string, nowMs: number): number {
  if (!HTTP_DATE.test(text)) return Number.NaN;
  return (Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) - nowMs) / 1000;
}
