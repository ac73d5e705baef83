export interface BackgroundOptions {
  /** The first run begins at once; after `everyMs` when absent. */
  readonly atOnce?: boolean;
  /**
   * Called with the error of a run that fails after one that did not, so that an outage is one
   * line. Silent when absent.
   */
  readonly failed?: (err: unknown) => void;
}

/** Work that runs again and again. */
export interface Background {
  /** Runs now. While a run is under way, one more follows it at once. */
  wake(): void;
  /** No further run; resolves when the one under way has ended. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Runs `work` again and again until it is stopped, never twice at once. Each run begins `everyMs`
 * milliseconds after the end of the one before, or after the milliseconds that this one resolved
 * with; after Infinity it waits for `wake`. It keeps no process alive, and uses the global timers,
 * which a test may replace.
 */
export function every(
  everyMs: number,
  work: () => Promise<number | void>,
  { atOnce = false, failed }: BackgroundOptions = {},
): Background {
  let timer: NodeJS.Timeout | undefined;
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
    clearTimeout(timer);
    isWoken = false;
    running = run().then((pauseMs) => {
      running = null;
      if (isStopped) return;
      if (isWoken) begin();
      else beginAfter(pauseMs);
    });
  };
  const beginAfter = (ms: number): void => {
    if (ms !== Infinity) timer = setTimeout(begin, ms).unref();
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
      clearTimeout(timer);
      await running;
    },
  };
}
