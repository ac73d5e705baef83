/**
 * Maximum wait of a provider that is used: one day, in milliseconds. A longer wait is cut
 * (docs/behaviour.md#waits-of-providers).
 */
export const WAIT_MS_MAX = 86_400_000;

/**
 * Numbers from this value on are a time: seconds since 1970, from the second value on milliseconds.
 */
const EPOCH_SECONDS_MIN = 1e9;
const EPOCH_MS_MIN = 1e12;

const DECIMAL = /^\d{1,15}(?:\.\d{1,10})?$/;

/**
 * Returns the wait stated by a response's headers, in milliseconds from 0 to {@link WAIT_MS_MAX}:
 * `retry-after-ms`, else `retry-after`, else the reset headers of Together and Mistral. Skips a
 * value that cannot be read. Returns undefined if no header states a wait.
 */
export function readHeaderWaitMs(headerOf: (name: string) => string | undefined, nowMs: number): number | undefined {
  return (
    readWait(headerOf('retry-after-ms'), 1, nowMs) ??
    readWait(headerOf('retry-after'), 1_000, nowMs) ??
    RESET_HEADERS.map((name) => readWait(headerOf(name), 1_000, nowMs)).find((ms) => ms !== undefined)
  );
}

/** Headers with the wait of providers without Retry-After: Together, Mistral. */
const RESET_HEADERS = ['x-ratelimit-reset', 'ratelimitbysize-reset'] as const;

/** @param unitMs milliseconds of one unit of a number that is a duration */
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

/** The three forms of an HTTP date. `Date.parse` would guess other forms. */
const HTTP_DATE =
  /^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

/** `13s`, `0.494s`: a duration in the JSON form of Protocol Buffers. */
const PROTO_DURATION = /^(\d{1,12}(?:\.\d{1,9})?)s$/;

/**
 * Returns the wait of Google's `RetryInfo` in milliseconds, within the bounds of {@link
 * headerWaitMs}.
 */
export function parseDurationMs(retryDelay: unknown): number | undefined {
  const [, seconds] = typeof retryDelay === 'string' ? (PROTO_DURATION.exec(retryDelay) ?? []) : [];
  return seconds === undefined ? undefined : boundWait(Number(seconds) * 1_000);
}

/** `Please retry after 60 seconds`, `try again in 494ms`, `in 9m38.016s`, `in 10h50m43.6s`. */
const WAIT_IN_TEXT =
  /\b(?:retry|try again) (?:after|in) (?:(\d{1,3})h)?(?:(\d{1,4})m)?(\d{1,6}(?:\.\d{1,10})?) ?(ms|s(?:ec(?:ond)?s?)?\b)/i;

/**
 * Returns the wait stated by an error's text in milliseconds, within the bounds of {@link
 * headerWaitMs}.
 */
export function parseTextWaitMs(text: string | null): number | undefined {
  const [found, hours = '0', minutes = '0', amount, unit] = WAIT_IN_TEXT.exec(text ?? '') ?? [];
  if (found === undefined) return undefined;
  const lastMs = Number(amount) * (unit?.toLowerCase() === 'ms' ? 1 : 1_000);
  return boundWait(Number(hours) * 3_600_000 + Number(minutes) * 60_000 + lastMs);
}

function boundWait(ms: number): number {
  return Math.min(WAIT_MS_MAX, Math.max(0, ms));
}

/** Converts a wait to whole seconds for a Retry-After header: rounded up, at least 1. */
export function toWholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
