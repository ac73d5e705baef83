/** How often it is looked which calls are due. */
const TICK_MS = 1;
/** Calls that wait for a free connection; more mean that the peer does not follow. */
const WAITING_MAX = 5_000;
/**
 * Times are sums of doubles: a call that is due at the very end must not be missed by a rounding.
 */
const ROUNDING = 1e-6;

export interface Pace {
  readonly connections: number;
  readonly perSecond: number;
  /**
   * When the first call begins and when no further one does, milliseconds of `performance.now()`.
   */
  readonly startedAt: number;
  readonly endAt: number;
  /**
   * Makes one call on a free connection; `ended` is called once. Waiting for the connection counts
   * from `dueAt`.
   */
  readonly call: (connection: number, dueAt: number, ended: () => void) => void;
}

/**
 * An open loop: calls begin when they are due and not when others have ended, so that a slow answer
 * does not keep later calls from being counted. Resolves with the last answer. @throws Error when
 * the peer does not follow
 */
export function runPaced({ connections, perSecond, startedAt, endAt, call }: Pace): Promise<void> {
  return new Promise((resolve, reject) => {
    // In turn, so that the keys of all connections are used.
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
