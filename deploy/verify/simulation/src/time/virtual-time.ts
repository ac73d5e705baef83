import { EventQueue, type TimedEvent } from './event-queue.js';
import type { Host } from './host.js';

/** Steps without any progress of time: a loop that would never end. */
const STEPS_AT_ONE_TIME_MAX = 20_000;
/** Short intervals come late, as in a busy process: they only look whether something is due. */
const SHORT_INTERVAL_MS = 101;
const LATENESS_MS_MAX = 150;

const realSetImmediate = setImmediate;

/**
 * Time that passes from event to event. What a host's code awaits is done before the next event
 * happens, so a run depends on nothing but its events.
 */
export class VirtualTime {
  readonly #queue = new EventQueue();
  #order = 0;
  /** Epoch milliseconds. */
  now: number;
  readonly startedAt: number;
  /** Whose code runs. */
  current: Host | null = null;
  #planned = 0;
  /** The step that runs was a look at nothing: nobody awaits anything of it. */
  #isIdleLook = false;

  /** @param lateness [0, 1): how late the next look of a short interval comes */
  constructor(
    startMs: number,
    private readonly lateness: () => number,
  ) {
    this.now = startMs;
    this.startedAt = startMs;
  }

  at(host: Host | null, atMs: number, happen: () => void): TimedEvent {
    this.#planned += 1;
    this.#order += 1;
    const event = { at: Math.max(atMs, this.now), order: this.#order, host, happen, isCancelled: false };
    this.#queue.push(event);
    return event;
  }

  in(host: Host | null, ms: number, happen: () => void): TimedEvent {
    return this.at(host, this.now + ms, happen);
  }

  /** Repeats until cancelled; `cancel` is for clearInterval. */
  every(host: Host | null, ms: number, happen: () => void): { cancel(): void } {
    let isOver = false;
    const stepMs = (): number =>
      ms < SHORT_INTERVAL_MS ? ms + Math.floor(this.lateness() * LATENESS_MS_MAX) : Math.max(1, ms);
    const next = (): void => {
      this.in(host, stepMs(), () => {
        if (isOver) return;
        const planned = this.#planned;
        happen();
        this.#isIdleLook = ms < SHORT_INTERVAL_MS && this.#planned === planned;
        next();
      });
    };
    next();
    return { cancel: () => void (isOver = true) };
  }

  /**
   * Lets events happen until `until` says so or none is left. `after` sees the world after each
   * step.
   * @throws Error when time stands still
   */
  async run(until: () => boolean, after: () => void): Promise<void> {
    let stillSteps = 0;
    while (!until()) {
      const event = this.#queue.pop();
      if (event === undefined) return;
      if (event.isCancelled || event.host?.isAlive === false) continue;
      if (event.host !== null && event.host.hungUntil > this.now && event.host.hungUntil > event.at) {
        // In its old place among those of that time.
        event.at = event.host.hungUntil;
        this.#queue.push(event);
        continue;
      }
      stillSteps = event.at > this.now ? 0 : stillSteps + 1;
      if (stillSteps > STEPS_AT_ONE_TIME_MAX) throw new Error('time stands still');
      this.now = event.at;
      await this.#step(event);
      after();
    }
  }

  async #step(event: TimedEvent): Promise<void> {
    this.current = event.host;
    this.#isIdleLook = false;
    event.happen();
    if (!this.#isIdleLook) await new Promise((resolve) => realSetImmediate(resolve));
    this.current = null;
  }
}
