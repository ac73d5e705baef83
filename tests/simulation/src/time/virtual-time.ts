import type { Host } from './host.js';

/** Limit for steps without progress of time, to detect an endless loop. */
const STEPS_AT_ONE_TIME_MAX = 20_000;
/** Intervals up to this length tick late, as in a busy process. They only poll. */
const SHORT_INTERVAL_MS = 101;
const LATENESS_MS_MAX = 150;

const realSetImmediate = setImmediate;

/** An event at a virtual time, in a host or (null) outside all hosts. */
export interface TimedEvent {
  at: number;
  /** Orders events of the same time by when they were planned. */
  readonly order: number;
  readonly host: Host | null;
  readonly happen: () => void;
  isCancelled: boolean;
}

/**
 * Time that advances from event to event. Awaited work of a host's code finishes before the next
 * event, so a run depends only on its events.
 */
export class VirtualTime {
  /** The planned events in reverse order: the next one is the last. */
  readonly #events: TimedEvent[] = [];
  #planned = 0;
  /** Epoch milliseconds. */
  now: number;
  readonly startedAt: number;
  /** The host whose code runs. */
  current: Host | null = null;
  /** True if the current step polled and found nothing, so no promise has to be awaited. */
  #isIdleLook = false;

  /** @param lateness [0, 1): delay of the next tick of a short interval */
  constructor(
    startMs: number,
    private readonly lateness: () => number,
  ) {
    this.now = startMs;
    this.startedAt = startMs;
  }

  at(host: Host | null, atMs: number, happen: () => void): TimedEvent {
    this.#planned += 1;
    const event = { at: Math.max(atMs, this.now), order: this.#planned, host, happen, isCancelled: false };
    this.#insert(event);
    return event;
  }

  in(host: Host | null, ms: number, happen: () => void): TimedEvent {
    return this.at(host, this.now + ms, happen);
  }

  /** Repeats until cancelled. `cancel` is for clearInterval. */
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
   * Processes events until `until` returns true or no event is left. `after` is called after each
   * step.
   * @throws Error when time does not progress
   */
  async run(until: () => boolean, after: () => void): Promise<void> {
    let stillSteps = 0;
    while (!until()) {
      const event = this.#events.pop();
      if (event === undefined) return;
      if (event.isCancelled || event.host?.isAlive === false) continue;
      if (event.host !== null && event.host.hungUntil > this.now && event.host.hungUntil > event.at) {
        // The event keeps its place in the order.
        event.at = event.host.hungUntil;
        this.#insert(event);
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

  #insert(event: TimedEvent): void {
    let [low, high] = [0, this.#events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#events[middle] as TimedEvent;
      const isEarlier = event.at < other.at || (event.at === other.at && event.order < other.order);
      if (isEarlier) low = middle + 1;
      else high = middle;
    }
    this.#events.splice(low, 0, event);
  }
}
