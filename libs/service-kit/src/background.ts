import { systemClock, type Timer, type TimerClock } from './clock.js';

export interface BackgroundOptions {
  /** Starts the first run at once. Default: after `everyMs`. */
  readonly atOnce?: boolean;
  /**
   * Called with the error of a failed run after a successful one, so that an outage is one log
   * line. Default: no report.
   */
  readonly failed?: (err: unknown) => void;
  /** Default: the system's clock. */
  readonly clock?: TimerClock;
}

/** Work that runs repeatedly. */
export interface Background {
  /** Starts a run now. If a run is in progress, one more follows it at once. */
  wake(): void;
  /** Prevents further runs and resolves when the current one has ended. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Runs `work` repeatedly until it is stopped, never twice at once. Each run starts `everyMs`
 * milliseconds after the end of the previous one, or after the milliseconds that the previous one
 * returned. After Infinity it waits for `wake`. It does not keep the process alive.
 */
export function runEvery(
  everyMs: number,
  work: () => Promise<number | void>,
  { atOnce = false, failed, clock = systemClock }: BackgroundOptions = {},
): Background {
  let timer: Timer | undefined;
  let running: Promise<void> | null = null;
  let isWoken = false;
  let isStopped = false;
  let isFailing = false;

  const run = async (): Promise<number> => {
    try {
      const pauseMs = await work();
      isFailing = false;
      return pauseMs ?? everyMs;
    } catch (err) {
      if (!isFailing) failed?.(err);
      isFailing = true;
      return everyMs;
    }
  };
  const begin = (): void => {
    timer?.cancel();
    isWoken = false;
    running = run().then((pauseMs) => {
      running = null;
      if (isStopped) return;
      if (isWoken) begin();
      else beginAfter(pauseMs);
    });
  };
  const beginAfter = (ms: number): void => {
    if (ms !== Infinity) timer = clock.setTimer(ms, begin).unref();
  };

  if (atOnce) begin();
  else beginAfter(everyMs);
  return {
    wake() {
      if (isStopped) return;
      if (running === null) begin();
      else isWoken = true;
    },
    async stop() {
      isStopped = true;
      timer?.cancel();
      await running;
    },
  };
}
