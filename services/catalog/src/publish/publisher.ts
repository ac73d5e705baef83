import { every } from '@gateway/service-kit';
import type { Announcer } from '../ports.js';
import { PublishedWaiters } from './published-waiters.js';
import { WakeablePause } from './wakeable-pause.js';

/** `waited`: another replica was publishing. */
export type Outcome = 'published' | 'waited' | 'failed';

/** The revision that is published now, or why there is none. */
type Tried = number | Exclude<Outcome, 'published'>;

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
  const between = new WakeablePause();
  const waiters = new PublishedWaiters();
  let wanted = true;
  /** Woken since the last try began: the next one does not wait. */
  let woken = false;
  let stopped = false;
  let failures = 0;
  let verifiedAt = performance.now();

  const attempt = async (): Promise<void> => {
    wanted = false;
    woken = false;
    const result = await tryOnce(ports);
    if (typeof result === 'number') {
      verifiedAt = performance.now();
      failures = 0;
      waiters.resolveUpTo(result);
      return;
    }
    wanted = true;
    // A publication of another replica is short.
    if (!stopped && !woken) await between.pause(ports.retryDelayMs(result === 'waited' ? 0 : failures++));
  };
  const loop = async (): Promise<void> => {
    while (!stopped) await (wanted ? attempt() : between.pause(null));
  };

  const announce = (): void => {
    if (wanted) return;
    wanted = true;
    between.end();
  };

  const check = async (): Promise<void> => {
    if (wanted || waiters.revision() === null) return;
    const due = performance.now() - verifiedAt >= times.verifyMs;
    // A server that does not answer is told by the next publication; looking has nothing to add.
    if (due || (await ports.isStale().catch(() => false))) announce();
  };

  const checks = every(times.checkMs, check);
  const running = loop();
  return {
    announce,
    revision: () => waiters.revision(),
    published: (awaited, timeoutMs) => waiters.published(awaited, timeoutMs),
    wake() {
      wanted = true;
      woken = true;
      between.end();
    },
    async stop() {
      stopped = true;
      between.end();
      await Promise.all([running, checks.stop()]);
      waiters.stop();
    },
  };
}

/** One try, told with its outcome and the seconds that it took. */
async function tryOnce(ports: PublisherPorts): Promise<Tried> {
  const begun = performance.now();
  const result = await publishOnce(ports);
  ports.onTry(typeof result === 'number' ? 'published' : result, (performance.now() - begun) / 1_000);
  return result;
}

async function publishOnce({ publish, log }: PublisherPorts): Promise<Tried> {
  try {
    return (await publish()) ?? 'waited';
  } catch (err) {
    log.warn({ err }, 'the catalog was not published; trying again');
    return 'failed';
  }
}
