/**
 * Longest wait of a provider that counts: one day, in milliseconds. A longer one is cut
 * (docs/behaviour.md#waits-of-providers).
 */
export const WAIT_MS_MAX = 86_400_000;

/** Numbers from here on are a time of day: seconds since 1970, from the second on milliseconds. */
const EPOCH_SECONDS_MIN = 1e9;
const EPOCH_MS_MIN = 1e12;

const DECIMAL = /^\d{1,15}(?:\.\d{1,10})?$/;

/**
 * The wait that a response's headers state, in milliseconds from 0 to {@link WAIT_MS_MAX}:
 * `retry-after-ms`, else `retry-after`, else the reset headers of Together and Mistral. A value
 * that cannot be read is skipped. Undefined if no header states a wait.
 */
export function headerWaitMs(headerOf: (name: string) => string | undefined, nowMs: number): number | undefined {
  return (
    readWait(headerOf('retry-after-ms'), 1, nowMs) ??
    readWait(headerOf('retry-after'), 1_000, nowMs) ??
    RESET_HEADERS.map((name) => readWait(headerOf(name), 1_000, nowMs)).find((ms) => ms !== undefined)
  );
}

/** Headers in which a provider without Retry-After states its wait: Together, Mistral. */
const RESET_HEADERS = ['x-ratelimit-reset', 'ratelimitbysize-reset'] as const;

/** @param unitMs milliseconds of one unit of a number that is an amount of time */
function readWait(header: string | undefined, unitMs: number, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (HTTP_DATE.test(text)) {
    const atMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
    return Number.isNaN(atMs) ? undefined : boundWait(atMs - nowMs);
  }
  if (!DECIMAL.test(text)) return undefined;
  const amount = Number(text);
  if (amount < EPOCH_SECONDS_MIN) return boundWait(amount * unitMs);
  const leftMs = (amount < EPOCH_MS_MIN ? amount * 1_000 : amount) - nowMs;
  return Math.abs(leftMs) <= WAIT_MS_MAX ? boundWait(leftMs) : undefined;
}

/** The three forms of an HTTP date. `Date.parse` would guess at others. */
const HTTP_DATE =
  /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

/** `13s`, `0.494s`: a duration in the JSON form of Protocol Buffers. */
const PROTO_DURATION = /^(\d{1,12}(?:\.\d{1,9})?)s$/;

/** The wait of Google's `RetryInfo`, in milliseconds, as {@link headerWaitMs}. */
export function durationMs(retryDelay: unknown): number | undefined {
  const [, seconds] = typeof retryDelay === 'string' ? (PROTO_DURATION.exec(retryDelay) ?? []) : [];
  return seconds === undefined ? undefined : boundWait(Number(seconds) * 1_000);
}

/** `Please retry after 60 seconds`, `try again in 494ms`, `in 9m38.016s`, `in 10h50m43.6s`. */
const WAIT_IN_TEXT =
  /\b(?:retry|try again) (?:after|in) (?:(\d{1,3})h)?(?:(\d{1,4})m)?(\d{1,6}(?:\.\d{1,10})?) ?(ms|s(?:ec(?:ond)?s?)?\b)/i;

/** The wait that an error's text states, in milliseconds, as {@link headerWaitMs}. */
export function textWaitMs(text: string | null): number | undefined {
  const [found, hours = '0', minutes = '0', amount, unit] = WAIT_IN_TEXT.exec(text ?? '') ?? [];
  if (found === undefined) return undefined;
  const lastMs = Number(amount) * (unit?.toLowerCase() === 'ms' ? 1 : 1_000);
  return boundWait(Number(hours) * 3_600_000 + Number(minutes) * 60_000 + lastMs);
}

function boundWait(ms: number): number {
  return Math.min(WAIT_MS_MAX, Math.max(0, ms));
}

/** Whole seconds of a wait, as a Retry-After header has them: rounded up, at least 1. */
export function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
