import { KEY_USES_MAX } from '@gateway/contracts/messages';
import type { Ports } from '../ports.js';

/**
 * Keys whose use waits to be told. What is beyond waits for its next call: a time of use is for
 * lists, nothing depends on it.
 */
const KEYS_MAX = 100_000;
/** How often uses are told at most. */
const TELL_MS = 30_000;

/** When keys were last used by an admitted call, told to their owner from time to time. */
export class KeyUses {
  /** Redis time in ms by key. */
  #uses = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly ports: Pick<Ports, 'listeners'>) {}

  start(): void {
    this.#timer = setInterval(() => this.tell(), TELL_MS);
  }

  /** Tells what is left. */
  stop(): void {
    clearInterval(this.#timer);
    this.tell();
  }

  note(key: string, at: number): void {
    if (this.#uses.size < KEYS_MAX || this.#uses.has(key)) this.#uses.set(key, at);
  }

  /** Tells all that was noted since; what could not be sent waits for the next time. */
  tell(): void {
    const uses = Array.from(this.#uses, ([key, at]) => ({ key, at }));
    this.#uses = new Map();
    for (let from = 0; from < uses.length; from += KEY_USES_MAX) {
      const some = uses.slice(from, from + KEY_USES_MAX);
      if (!this.ports.listeners.keysUsed(some)) for (const { key, at } of some) this.note(key, at);
    }
  }
}
