import { inspect } from 'node:util';

const HIDDEN = '[secret]';

/**
 * A value that must not appear in logs, error texts or responses. All forms of printing return
 * `[secret]`. Only `reveal()` returns the value, so that a search for `reveal(` finds every use.
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

  /** Templates, concatenation and arithmetic call this before `toString`. */
  [Symbol.toPrimitive](): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }
}

/** A secret in rotation: `current` creates new values, `previous` is still accepted if set. */
export interface Rotatable<T = string> {
  readonly current: Secret<T>;
  readonly previous: Secret<T> | null;
}
