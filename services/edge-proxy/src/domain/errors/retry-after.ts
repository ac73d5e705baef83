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
  return Number.isNaN(seconds) ? undefined : wholeSeconds(seconds);
}

function wholeSeconds(seconds: number): number {
  return Math.min(RETRY_AFTER_SECONDS_MAX, Math.max(1, Math.ceil(seconds)));
}

/** The three forms of an HTTP date; anything else that `Date.parse` would guess at is none. */
const HTTP_DATE =
  /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

function secondsUntilDate(text: string, nowMs: number): number {
  if (!HTTP_DATE.test(text)) return Number.NaN;
  return (Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) - nowMs) / 1000;
}

/**
 * Headers in which a provider without Retry-After tells how long to wait: Together, Mistral. Others
 * send a time of day under these names; that is a larger number.
 */
const RESET_HEADERS = ['x-ratelimit-reset', 'ratelimitbysize-reset'] as const;
const RESET_SECONDS_MAX = 86_400;

/** A provider's wait as a Retry-After header has it; undefined: no header tells it. */
export function waitHeader(headerOf: (name: string) => string | undefined): string | undefined {
  return headerOf('retry-after') ?? RESET_HEADERS.map(headerOf).find(isReset);
}

function isReset(text: string | undefined): boolean {
  return text !== undefined && /^\d{1,5}(?:\.\d{1,10})?$/.test(text) && Number(text) <= RESET_SECONDS_MAX;
}

/** `Please retry after 60 seconds`, `try again in 494ms`, `in 9m38.016s`, `in 10h50m43.6s`. */
const WAIT_IN_TEXT =
  /\b(?:retry|try again) (?:after|in) (?:(\d{1,3})h)?(?:(\d{1,4})m)?(\d{1,6}(?:\.\d{1,10})?) ?(ms|s(?:ec(?:ond)?s?)?\b)/i;

/** The wait that an error's text tells, in the form of {@link retryAfterSeconds}. */
export function secondsInText(text: string | null): number | undefined {
  const [found, hours = '0', minutes = '0', amount, unit] = WAIT_IN_TEXT.exec(text ?? '') ?? [];
  if (found === undefined) return undefined;
  const last = Number(amount) / (unit?.toLowerCase() === 'ms' ? 1_000 : 1);
  return wholeSeconds(Number(hours) * 3_600 + Number(minutes) * 60 + last);
}
