import { inspect } from 'node:util';

const HIDDEN = '[secret]';

/**
 * A value that must not reach a log, an error text or an answer. Every way of printing it gives
 * `[secret]`; only `reveal()` hands it out, so that a search for `reveal(` finds every use.
 */
export class Secret<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  /** Templates, concatenation and arithmetic ask here before `toString`. */
  [Symbol.toPrimitive](): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }
}

/**
 * A secret that is being replaced: `current` makes new values, `previous` is still accepted while
 * it is set.
 */
export interface Rotatable<T = string> {
  readonly current: Secret<T>;
  readonly previous: Secret<T> | null;
}
