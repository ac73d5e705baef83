import type { Announcer } from '../ports.js';

/** `waited`: another replica was publishing. */
export type Outcome = 'published' | 'waited' | 'failed';

export interface PublisherPorts {
  /** Publishes the newest catalog; answers its revision, or null while another replica does. Repeating does no harm. */
  readonly publish: () => Promise<number | null>;
  /** Whether what is published is older than the database, or gone. */
  readonly isStale: () => Promise<boolean>;
  readonly log: { warn(facts: object, text: string): void; info(facts: object, text: string): void };
  /** Told how each try ended and how long it took, in seconds. */
  readonly onTry: (outcome: Outcome, seconds: number) => void;
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
  /** Ends the wait for the next try: after a reconnect. */
  wake(): void;
  /** Waits for the publication and the look under way. */
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
  /** Woken since the last try began: the next one does not wait. */
  let woken = false;
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

  const attempt = async (): Promise<Outcome> => {
    const begun = performance.now();
    wanted = false;
    woken = false;
    const outcome = await tryOnce();
    ports.onTry(outcome, (performance.now() - begun) / 1_000);
    if (outcome !== 'published') wanted = true;
    return outcome;
  };

  const tryOnce = async (): Promise<Outcome> => {
    try {
      const published = await ports.publish();
      if (published === null) return 'waited';
      settle(published);
      return 'published';
    } catch (err) {
      ports.log.warn({ err }, 'the catalog was not published; trying again');
      return 'failed';
    }
  };

  const settle = (published: number): void => {
    verifiedAt = performance.now();
    revision = Math.max(revision ?? 0, published);
    for (const waiter of waiting) if (waiter.revision <= revision) waiter.resolve(true);
  };

  const loop = async (): Promise<void> => {
    let failures = 0;
    while (!stopped) {
      if (!wanted) {
        await pause(null);
        continue;
      }
      const outcome = await attempt();
      if (outcome === 'published') failures = 0;
      // A publication of another replica is short.
      else if (!stopped && !woken) await pause(ports.retryDelayMs(outcome === 'waited' ? 0 : failures++));
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
    // A server that does not answer is told by the next publication; looking has nothing to add.
    if (due || (await ports.isStale().catch(() => false))) announce();
  };

  let checking: Promise<void> | null = null;
  const timer = setInterval(() => {
    checking ??= check().finally(() => (checking = null));
  }, times.checkMs);
  const running = loop();
  return {
    announce,
    revision: () => revision,
    wake() {
      wanted = true;
      woken = true;
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
      await Promise.all([running, checking]);
      for (const waiter of waiting) waiter.resolve(false);
    },
  };
}
