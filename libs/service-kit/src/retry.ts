import { systemClock, type Timer, type TimerClock } from './clock.js';

export interface BackoffOptions {
  /** Maximum delay before the first retry, in milliseconds. */
  readonly baseMs: number;
  /** Maximum delay, in milliseconds. */
  readonly maxMs: number;
  /** Uniform in [0, 1). An argument, so that a test can repeat a run. */
  readonly random: () => number;
}

/** Above this exponent every delay is `maxMs`. Keeps the power finite for unlimited attempts. */
const EXPONENT_MAX = 30;

/**
 * Returns the delay before retry number `attempt` (the first is 0), in whole milliseconds. Doubles
 * from `baseMs` to `maxMs`. The upper half is random, so that replicas that failed together do not
 * retry together.
 */
export function nextDelayMs(attempt: number, { baseMs, maxMs, random }: BackoffOptions): number {
  const ceilingMs = Math.min(maxMs, baseMs * 2 ** Math.min(Math.max(attempt, 0), EXPONENT_MAX));
  return Math.round(ceilingMs / 2 + (random() * ceilingMs) / 2);
}

/** Resolves with true after the time, with false when the signal is aborted. Never rejects. */
export function pause(ms: number, signal?: AbortSignal, clock = systemClock): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', end);
      resolve(!signal?.aborted);
    };
    const timer = clock.setTimer(ms, end);
    signal?.addEventListener('abort', end);
  });
}

export interface RetryOptions extends BackoffOptions {
  /** Maximum number of attempts. Default: unlimited. */
  readonly attemptsMax?: number;
  /** Aborting it prevents further attempts. */
  readonly signal?: AbortSignal;
  /** Reports whether a retry may succeed after this error. Default: always true. */
  readonly mayPass?: (err: unknown) => boolean;
  /** Called before each pause with the error of the previous attempt. */
  readonly failed?: (err: unknown) => void;
  /** Default: the system's clock. */
  readonly clock?: TimerClock;
}

/** Repeats `work` until it resolves, with growing pauses. Rejects with the last error. */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { attemptsMax = Infinity, signal, mayPass = () => true, failed, clock } = options;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (err) {
      if (attempt >= attemptsMax || signal?.aborted || !mayPass(err)) throw err;
      failed?.(err);
      if (!(await pause(nextDelayMs(attempt - 1, options), signal, clock))) throw err;
    }
  }
}

/**
 * Returns the result of `work`, or throws after `ms` milliseconds and ignores later results. The
 * timeout fires after a poll phase: data that arrived while the event loop was blocked counts as in
 * time.
 */
export async function withTimeout<T>(
  work: Promise<T>,
  ms: number,
  error = (): Error => new Error(`not done within ${ms} ms`),
  clock = systemClock,
): Promise<T> {
  let timer: Timer | undefined;
  const overdue = new Promise<never>((_resolve, reject) => {
    timer = clock.setTimer(ms, () => setImmediate(() => reject(error())));
  });
  try {
    return await Promise.race([work, overdue]);
  } finally {
    timer?.cancel();
  }
}
