export interface BackoffOptions {
  /** Upper bound of the delay before the first retry, in milliseconds. */
  readonly baseMs: number;
  /** No delay is longer, in milliseconds. */
  readonly maxMs: number;
  /** Uniform in [0, 1). An argument, so that a test can repeat a run. */
  readonly random: () => number;
}

/**
 * Beyond this exponent every delay is `maxMs`; it keeps the power finite for callers that never
 * stop counting.
 */
const EXPONENT_MAX = 30;

/**
 * Delay before retry number `attempt` (the first is 0), in whole milliseconds. Doubles from
 * `baseMs` to `maxMs`; the upper half is random, so that replicas that failed together do not
 * return together.
 */
export function nextDelayMs(attempt: number, { baseMs, maxMs, random }: BackoffOptions): number {
  const ceilingMs = Math.min(maxMs, baseMs * 2 ** Math.min(Math.max(attempt, 0), EXPONENT_MAX));
  return Math.round(ceilingMs / 2 + (random() * ceilingMs) / 2);
}

/**
 * Resolves after the time with true, or with false as soon as the signal is aborted. Never rejects.
 */
export function pause(ms: number, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve(!signal?.aborted);
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
}

export interface RetryOptions extends BackoffOptions {
  /** Most attempts; no bound when absent. */
  readonly attemptsMax?: number;
  /** Aborted: there is no further attempt. */
  readonly signal?: AbortSignal;
  /** Whether this error may pass; when absent, each may. */
  readonly mayPass?: (err: unknown) => boolean;
  /** Called before each pause with the error of the attempt before it. */
  readonly failed?: (err: unknown) => void;
}

/**
 * Repeats `work` until it resolves, with a growing pause between attempts. Rejects with the error
 * of the last attempt.
 */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { attemptsMax = Infinity, signal, mayPass = () => true, failed } = options;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (err) {
      if (attempt >= attemptsMax || signal?.aborted || !mayPass(err)) throw err;
      failed?.(err);
      if (!(await pause(nextDelayMs(attempt - 1, options), signal))) throw err;
    }
  }
}

/**
 * The result of `work`, or an error after `ms` milliseconds; what the work does later is not waited
 * for. The time is over after a poll phase: what arrived while the event loop was held up counts as
 * in time.
 */
export async function within<T>(
  work: Promise<T>,
  ms: number,
  error = (): Error => new Error(`not done within ${ms} ms`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => setImmediate(() => reject(error())), ms);
  });
  try {
    return await Promise.race([work, overdue]);
  } finally {
    clearTimeout(timer);
  }
}
