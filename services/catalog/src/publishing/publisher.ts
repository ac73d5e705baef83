import { every } from '@gateway/service-kit';
import { PublicationWaits } from './published-waiters.js';

/** `waited`: another replica was publishing. */
export type Outcome = 'published' | 'waited' | 'failed';

/** The published revision, or the reason why none was published. */
type AttemptResult = number | Exclude<Outcome, 'published'>;

export interface PublisherDeps {
  /**
   * Publishes the newest catalog and returns its revision. Null: another replica is publishing. May
   * be repeated.
   */
  readonly publish: () => Promise<number | null>;
  /** Whether the published catalog is missing or older than the database. */
  readonly isStale: () => Promise<boolean>;
  readonly log: { warn(fields: object, text: string): void; info(fields: object, text: string): void };
  /** Called with the outcome and the duration of each attempt, in seconds. */
  readonly onTry: (outcome: Outcome, seconds: number) => void;
  /** Returns the milliseconds before attempt number `attempt` (the first repetition is 0). */
  readonly retryDelayMs: (attempt: number) => number;
}

export interface PublisherTimes {
  /** Interval of the check for a missing or old head. */
  readonly checkMs: number;
  /** Interval of publications without a change, which repair a crashed writer's publication. */
  readonly verifyMs: number;
}

export interface Publisher {
  announce(): void;
  /** The newest revision that this replica saw published. Null before the first publication. */
  revision(): number | null;
  /** Waits until the revision is published. Returns false after the timeout. Never rejects. */
  published(revision: number, timeoutMs: number): Promise<boolean>;
  /** Ends the wait for the next attempt, after a reconnect. */
  wake(): void;
  /** Waits for the running publication and check. */
  stop(): Promise<void>;
}

export const PUBLISHER_TIMES: PublisherTimes = { checkMs: 3_000, verifyMs: 60_000 };

/**
 * Starts a publisher that runs one publication at a time. Changes announced during a publication
 * are covered by the next one, which reads the database again. A failed publication is repeated
 * until it succeeds, so that no change is lost.
 */
export function startPublisher(deps: PublisherDeps, times: PublisherTimes = PUBLISHER_TIMES): Publisher {
  const waiters = new PublicationWaits();
  let wanted = true;
  /**
   * Whether an attempt is running. Changes announced in the meantime are published after it, or
   * after the delay that it requests.
   */
  let isTrying = false;
  let failures = 0;
  let verifiedAt = performance.now();

  /** Tries to publish and returns the milliseconds until the next attempt. */
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
    // Another replica's publication is short.
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
    // A failure of the check is ignored, because the next publication fails too and reports it.
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

/** Makes one attempt and reports its outcome and duration. */
async function tryOnce(deps: PublisherDeps): Promise<AttemptResult> {
  const begun = performance.now();
  const result = await publishOnce(deps);
  deps.onTry(typeof result === 'number' ? 'published' : result, (performance.now() - begun) / 1_000);
  return result;
}

async function publishOnce({ publish, log }: PublisherDeps): Promise<AttemptResult> {
  try {
    return (await publish()) ?? 'waited';
  } catch (err) {
    log.warn({ err }, 'publication failed; will retry');
    return 'failed';
  }
}
