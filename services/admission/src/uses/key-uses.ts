import { KEY_USES_MAX } from '@gateway/contracts/messages';
import type { Timer } from '@gateway/service-kit';
import type { Ports } from '../ports.js';

/**
 * Keys whose use waits to be reported. A further key is skipped until its next call: the time of
 * use is only displayed.
 */
const KEYS_MAX = 100_000;
/** Minimum interval of reports. */
const PUBLISH_MS = 30_000;

/** Collects when admitted calls last used keys, and reports this to their owner periodically. */
export class KeyUses {
  /** Redis time in ms by key. */
  #uses = new Map<string, number>();
  #timer: Timer | undefined;

  constructor(private readonly ports: Pick<Ports, 'listeners' | 'clock'>) {}

  start(): void {
    this.#timer = this.ports.clock.timers.setTicker(PUBLISH_MS, () => this.publish());
  }

  /** Stops the timer and reports the remaining uses. */
  stop(): void {
    this.#timer?.cancel();
    this.publish();
  }

  note(key: string, at: number): void {
    if (this.#uses.size < KEYS_MAX || this.#uses.has(key)) this.#uses.set(key, at);
  }

  /**
   * Reports all uses since the last report. Uses that could not be sent are kept for the next one.
   */
  publish(): void {
    const uses = Array.from(this.#uses, ([key, at]) => ({ key, at }));
    this.#uses = new Map();
    for (let from = 0; from < uses.length; from += KEY_USES_MAX) {
      const some = uses.slice(from, from + KEY_USES_MAX);
      if (!this.ports.listeners.keysUsed(some)) for (const { key, at } of some) this.note(key, at);
    }
  }
}
