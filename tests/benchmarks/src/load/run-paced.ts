/** Interval between checks for due calls. */
const TICK_MS = 1;
/** Limit for calls that wait for a connection. Above it the peer is too slow for the rate. */
const WAITING_MAX = 5_000;
/** Tolerance for sums of doubles, so that a call due at the very end is not lost. */
const ROUNDING = 1e-6;

export interface Pace {
  readonly connections: number;
  readonly perSecond: number;
  /** Start of the first call and end of new calls, in milliseconds of `performance.now()`. */
  readonly startedAt: number;
  readonly endAt: number;
  /** Makes one call. `ended` is called once. The wait for the connection counts from `dueAt`. */
  readonly call: (connection: number, dueAt: number, ended: () => void) => void;
}

/**
 * Runs an open loop: calls begin when they are due, even if earlier calls are still running, so
 * that a slow response does not hide later calls. Resolves with the last response. @throws Error if
 * the peer is too slow for the rate
 */
export function runPaced({ connections, perSecond, startedAt, endAt, call }: Pace): Promise<void> {
  return new Promise((resolve, reject) => {
    // A queue, so that the keys of all connections are used.
    const free = Array.from({ length: connections }, (_unused, index) => index);
    const waiting: number[] = [];
    let begun = 0;
    let running = 0;
    const start = (connection: number, dueAt: number): void => {
      running += 1;
      call(connection, dueAt, () => {
        running -= 1;
        const next = waiting.shift();
        if (next === undefined) free.push(connection);
        else start(connection, next);
      });
    };
    const timer = setInterval(() => {
      const now = performance.now();
      const due = Math.floor(((Math.min(now, endAt) - startedAt) * perSecond) / 1_000 + ROUNDING);
      for (; begun < due; begun += 1) {
        const connection = free.shift();
        if (connection === undefined) waiting.push(now);
        else start(connection, now);
      }
      if (waiting.length <= WAITING_MAX && (now < endAt || running > 0)) return;
      clearInterval(timer);
      if (waiting.length > WAITING_MAX) reject(new Error(`${waiting.length} calls wait for a connection`));
      else resolve();
    }, TICK_MS);
  });
}
