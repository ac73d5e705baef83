import type { Announcer } from '../ports.js';

export interface PublisherPorts {
  /** Publishes the newest catalog; answers its revision. Repeating it does no harm. */
  readonly publish: () => Promise<number>;
  /** Whether what is published is older than the database, or gone. */
  readonly isStale: () => Promise<boolean>;
  readonly log: { warn(facts: object, text: string): void; info(facts: object, text: string): void };
  /** Told how each try ended and how long it took, in seconds. */
  readonly onTry: (outcome: 'published' | 'failed', seconds: number) => void;
  /** Delay before try number `attempt` (the first repetition is 0), in milliseconds. */
  readonly retryDelayMs: (attempt: number) => number;
}

export interface PublisherTimes {
  /** Between two looks whether the head is missing or old. */
  readonly checkMs: number;
  /** Between two publications without a reason: they repair what a crashed writer left half written. */
  readonly verifyMs: number;
}

export interface Publisher extends Announcer {
  /** The newest revision that is known to be published; null before the first time. */
  revision(): number | null;
  /** Ends the wait for the next try: after a reconnect. */
  wake(): void;
  /** Waits for the publication under way. */
  stop(): Promise<void>;
}

export const PUBLISHER_TIMES: PublisherTimes = { checkMs: 3_000, verifyMs: 60_000 };

/**
 * One publication at a time. Changes that are announced while one runs are covered by the next one, which reads the
 * database anew; a failed one is repeated until it succeeds, so that no change is lost.
 */
export function startPublisher(ports: PublisherPorts, times: PublisherTimes = PUBLISHER_TIMES): Publisher {
  let wanted = true;
  let stopped = false;
  let revision: number | null = null;
  let verifiedAt = performance.now();
  let endPause: () => void = () => undefined;
  const waiting = new Set<{ readonly revision: number; readonly resolve: (published: boolean) => void }>();

  const pause = (ms: number | null): Promise<void> =>
    new Promise((resolve) => {
      const timer = ms === null ? undefined : setTimeout(resolve, ms);
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const attempt = async (): Promise<boolean> => {
    const begun = performance.now();
    wanted = false;
    try {
      const published = await ports.publish();
      verifiedAt = performance.now();
      revision = Math.max(revision ?? 0, published);
      for (const waiter of waiting) if (waiter.revision <= revision) waiter.resolve(true);
      ports.onTry('published', (performance.now() - begun) / 1_000);
      return true;
    } catch (err) {
      wanted = true;
      ports.onTry('failed', (performance.now() - begun) / 1_000);
      ports.log.warn({ err }, 'the catalog was not published; trying again');
      return false;
    }
  };

  const loop = async (): Promise<void> => {
    let failures = 0;
    while (!stopped) {
      if (!wanted) await pause(null);
      else if (await attempt()) failures = 0;
      else if (!stopped) await pause(ports.retryDelayMs(failures++));
    }
  };

  const announce = (): void => {
    if (wanted) return;
    wanted = true;
    endPause();
  };

  const check = async (): Promise<void> => {
    if (wanted || revision === null) return;
    const due = performance.now() - verifiedAt >= times.verifyMs;
    // A bus that does not answer is told by the next publication; looking has nothing to add.
    if (due || (await ports.isStale().catch(() => false))) announce();
  };

  const timer = setInterval(() => void check(), times.checkMs);
  const running = loop();
  return {
    announce,
    revision: () => revision,
    wake() {
      wanted = true;
      endPause();
    },
    published(awaited, timeoutMs) {
      if (revision !== null && revision >= awaited) return Promise.resolve(true);
      return new Promise((resolve) => {
        const waiter = {
          revision: awaited,
          resolve(published: boolean) {
            clearTimeout(late);
            waiting.delete(waiter);
            resolve(published);
          },
        };
        const late = setTimeout(() => waiter.resolve(false), timeoutMs);
        waiting.add(waiter);
      });
    },
    async stop() {
      stopped = true;
      clearInterval(timer);
      endPause();
      await running;
      for (const waiter of waiting) waiter.resolve(false);
    },
  };
}
