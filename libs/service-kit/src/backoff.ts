export interface BackoffOptions {
  /** Upper bound of the delay before the first retry, in milliseconds. */
  readonly baseMs: number;
  /** No delay is longer, in milliseconds. */
  readonly maxMs: number;
  /** Uniform in [0, 1). An argument, so that a test can repeat a run. */
  readonly random: () => number;
}

/** Beyond this exponent every delay is `maxMs`; it keeps the power finite for callers that never stop counting. */
const EXPONENT_MAX = 30;

/**
 * Delay before retry number `attempt` (the first is 0), in whole milliseconds. Doubles from `baseMs` to `maxMs`;
 * the upper half is random, so that replicas that failed together do not return together.
 */
export function nextDelayMs(attempt: number, { baseMs, maxMs, random }: BackoffOptions): number {
  const ceilingMs = Math.min(maxMs, baseMs * 2 ** Math.min(Math.max(attempt, 0), EXPONENT_MAX));
  return Math.round(ceilingMs / 2 + (random() * ceilingMs) / 2);
}
