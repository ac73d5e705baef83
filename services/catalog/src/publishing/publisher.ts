import { every } from '@gateway/service-kit';
import { PublishedWaiters } from './published-waiters.js';

/** `waited`: another replica was publishing. */
export type Outcome = 'published' | 'waited' | 'failed';

/** The revision that is published now, or why there is none. */
type Tried = number | Exclude<Outcome, 'published'>;

export interface PublisherDeps {
  /**
   * Publishes the newest catalog; answers its revision, or null while another replica does.
   * Repeating does no harm.
   */
  readonly publish: () => Promise<number | null>;
  /** Whether what is published is older than the database, or gone. */
  readonly isStale: () => Promise<boolean>;
  readonly log: { warn(fields: object, text: string): void; info(fields: object, text: string): void };
  /** Called with how each try ended and how long it took, in seconds. */
  readonly onTry: (outcome: Outcome, seconds: number) => void;
  /** Delay before try number `attempt` (the first repetition is 0), in milliseconds. */
  readonly retryDelayMs: (attempt: number) => number;
}

export interface PublisherTimes {
  /** Between two checks whether the head is missing or old. */
  readonly checkMs: number;
  /**
   * Between two publications without a reason: they repair what a crashed writer left half written.
   */
  readonly verifyMs: number;
}

export interface Publisher {
  announce(): void;
  /** The newest revision that this replica saw published; null before the first time. */
  revision(): number | null;
  /** Resolves when that revision is published, or with false after the time. Never rejects. */
  published(revision: number, timeoutMs: number): Promise<boolean>;
  /** Ends the wait for the next try: after a reconnect. */
  wake(): void;
  /** Waits for the publication and the check under way. */
  stop(): Promise<void>;
}

export const PUBLISHER_TIMES: PublisherTimes = { checkMs: 3_000, verifyMs: 60_000 };

/**
 * One publication at a time. Changes that are announced while one runs are covered by the next one,
 * which reads the database anew; a failed one is repeated until it succeeds, so that no change is
 * lost.
 */
export function startPublisher(deps: PublisherDeps, times: PublisherTimes = PUBLISHER_TIMES): Publisher {
  const waiters = new PublishedWaiters();
  let wanted = true;
  /**
   * A try is under way; what is announced meanwhile is published after it, or after the pause that
   * it needs.
   */
  let isTrying = false;
  let failures = 0;
  let verifiedAt = performance.now();

  /** Resolves with the milliseconds until the next try. */
  const attempt = async (): Promise<number> => {
    isTrying = true;
    wanted = false;
    const result = await tryOnce(deps);
    isTrying = false;
    if (typeof result === 'number') {
      verifiedAt = performance.now();
      failures = 0;
      waiters.resolveUpTo(result);
      return wanted ? 0 : Infinity;
    }
    wanted = true;
    // A publication of another replica is short.
    return deps.retryDelayMs(result === 'waited' ? 0 : failures++);
  };
  const attempts = every(Infinity, attempt, { atOnce: true });

  const announce = (): void => {
    if (wanted) return;
    wanted = true;
    if (!isTrying) attempts.wake();
  };

  const check = async (): Promise<void> => {
    if (wanted || waiters.revision() === null) return;
    const due = performance.now() - verifiedAt >= times.verifyMs;
    // A server that does not answer fails the next publication too; the check has nothing to add.
    if (due || (await deps.isStale().catch(() => false))) announce();
  };

  const checks = every(times.checkMs, check);
  return {
    announce,
    revision: () => waiters.revision(),
    published: (awaited, timeoutMs) => waiters.published(awaited, timeoutMs),
    wake() {
      wanted = true;
      attempts.wake();
    },
    async stop() {
      await Promise.all([attempts.stop(), checks.stop()]);
      waiters.stop();
    },
  };
}

/** One try, reported with its outcome and the seconds that it took. */
async function tryOnce(deps: PublisherDeps): Promise<Tried> {
  const begun = performance.now();
  const result = await publishOnce(deps);
  deps.onTry(typeof result === 'number' ? 'published' : result, (performance.now() - begun) / 1_000);
  return result;
}

async function publishOnce({ publish, log }: PublisherDeps): Promise<Tried> {
  try {
    return (await publish()) ?? 'waited';
  } catch (err) {
    log.warn({ err }, 'the catalog was not published; trying again');
    return 'failed';
  }
}
