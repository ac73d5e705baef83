import { ThrottledLog } from '@gateway/service-kit';
import type { Msg, Subscription } from 'nats';
import type { Link } from '../connection.js';

/** At most one log line per message name and reason in this time. */
const REFUSED_LOG_MS = 1_000;

/**
 * Holds the subscriptions that pass messages to handlers, and the number of running handlers, for
 * which a drain has to wait.
 */
export class Subscriptions {
  readonly #link: Link;
  readonly #subscriptions: Subscription[] = [];
  readonly #refused: ThrottledLog;
  #running = 0;
  #whenIdle: (() => void)[] = [];

  constructor(link: Link) {
    this.#link = link;
    this.#refused = new ThrottledLog(link.log, 'a message was refused', {
      everyMs: REFUSED_LOG_MS,
      nowMs: () => link.clock.monotonicMs(),
    });
  }

  /** `receive` must not throw: it runs inside the library's read loop. */
  open(subject: string, queue: string | undefined, receive: (message: Msg) => void): void {
    const callback = (error: Error | null, message: Msg): void => {
      if (error !== null) this.#link.log.error({ error, subject }, 'a subscription was refused');
      else receive(message);
    };
    const options = queue === undefined ? { callback } : { callback, queue };
    this.#subscriptions.push(this.#link.nats.subscribe(subject, options));
  }

  /**
   * Runs a handler to its end and counts it while it runs. Its exception goes to `failed`. Neither
   * callback may throw.
   */
  async run<T>(handler: () => Promise<T> | T, ended: (result: T) => void, failed: (error: unknown) => void) {
    this.#running += 1;
    try {
      ended(await handler());
    } catch (error) {
      failed(error);
    } finally {
      this.#running -= 1;
      if (this.#running === 0) for (const idle of this.#whenIdle.splice(0)) idle();
    }
  }

  /** Counts a message that reaches no handler, and logs it at a limited rate. */
  refuse(name: string, reason: string, problem: string): void {
    this.#link.counters.refused(name, reason);
    this.#refused.warn({ message: name, reason, problem }, `${name} ${reason}`);
  }

  /** Stops receiving. Resolves after all received messages are handled. */
  async close(): Promise<void> {
    await Promise.all(this.#subscriptions.splice(0).map((subscription) => subscription.drain().catch(() => undefined)));
    if (this.#running > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }
}
