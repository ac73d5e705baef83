import { nextDelayMs, within } from '@gateway/service-kit';
import { findFailureCode } from './credential-text.js';
import { CredentialError } from '../ports.js';

/** Timeout for one fetch of a credential. */
const FETCH_MS_MAX = 10_000;
/** Delay after a failed fetch. It starts at the first value and doubles up to the second. */
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 30_000;
/** Shortest time between two replacements because of a provider's refusals. */
const REPLACE_EVERY_MS = 30_000;

/** An issued credential. */
export interface IssuedCredential<T> {
  readonly value: T;
  /** Epoch milliseconds, or null if it does not expire. */
  readonly expiresAtMs: number | null;
}

/** A credential that is in force. */
export interface CurrentCredential<T> {
  readonly value: T;
  readonly version: number;
}

export interface ExpiringCredentialParts<T> {
  /** Rejects without a credential. The text of a {@link CredentialError} becomes the reason. */
  readonly fetch: () => Promise<IssuedCredential<T>>;
  /** Epoch milliseconds. */
  readonly nowMs: () => number;
  readonly random: () => number;
  /** Called when a fetch has ended. `reason` is null after a success, and contains no secret. */
  readonly ended: (reason: string | null) => void;
}

/**
 * An expiring credential that all calls share. One fetch at a time gets the next credential before
 * the present one expires; calls use the present one meanwhile. Nothing is fetched unless a call
 * needs it.
 */
export class ExpiringCredential<T> {
  readonly #parts: ExpiringCredentialParts<T>;
  #held: (CurrentCredential<T> & { readonly life: TokenLife }) | null = null;
  #version = 0;
  #flight: Promise<CurrentCredential<T>> | null = null;
  /** Number of failed fetches in a row. */
  #failures = 0;
  #failure: CredentialError | null = null;
  #retryAtMs = 0;
  #replaceableAtMs = 0;

  constructor(parts: ExpiringCredentialParts<T>) {
    this.#parts = parts;
  }

  /** Synchronous while a credential is in force. Rejects with {@link CredentialError}. */
  get(): CurrentCredential<T> | Promise<CurrentCredential<T>> {
    const nowMs = this.#parts.nowMs();
    const held = this.#held;
    const mayFetch = this.#flight === null && nowMs >= this.#retryAtMs;
    if (held !== null && nowMs < held.life.endsAtMs) {
      if (nowMs >= held.life.refreshAtMs && mayFetch) void this.#begin(nowMs);
      return held;
    }
    if (this.#flight !== null) return this.#flight;
    return mayFetch ? this.#begin(nowMs) : Promise.reject(this.#failure ?? new CredentialError('no credential'));
  }

  /** Returns whether there is another version, or one may be fetched. */
  mayReplace(version: number): boolean {
    return version !== this.#held?.version || this.#parts.nowMs() >= this.#replaceableAtMs;
  }

  /** Discards that version. The next call waits for another one. */
  replace(version: number): void {
    const nowMs = this.#parts.nowMs();
    if (version !== this.#held?.version || nowMs < this.#replaceableAtMs) return;
    this.#held = null;
    this.#replaceableAtMs = nowMs + REPLACE_EVERY_MS;
  }

  #begin(nowMs: number): Promise<CurrentCredential<T>> {
    const flight = this.#fetch(nowMs).finally(() => (this.#flight = null));
    // No caller awaits a fetch that was started ahead of time.
    flight.catch(() => undefined);
    return (this.#flight = flight);
  }

  async #fetch(nowMs: number): Promise<CurrentCredential<T>> {
    try {
      const { value, expiresAtMs } = await within(this.#parts.fetch(), FETCH_MS_MAX);
      const life = computeTokenLife(nowMs, expiresAtMs);
      if (life.endsAtMs <= this.#parts.nowMs()) throw new CredentialError('the issued credential has already expired');
      this.#version += 1;
      this.#failures = 0;
      this.#held = { value, version: this.#version, life };
      this.#parts.ended(null);
      return this.#held;
    } catch (err) {
      throw this.#failed(err);
    }
  }

  #failed(err: unknown): CredentialError {
    const { random, ended } = this.#parts;
    const delayMs = nextDelayMs(this.#failures, { baseMs: RETRY_MS, maxMs: RETRY_MS_MAX, random });
    this.#failures += 1;
    this.#retryAtMs = this.#parts.nowMs() + delayMs;
    this.#failure = err instanceof CredentialError ? err : new CredentialError(findFailureCode(err));
    ended(this.#failure.message);
    return this.#failure;
  }
}

/** A token is refreshed after this share of its life, or this long before its end if later. */
const REFRESH_SHARE = 0.8;
const REFRESH_BEFORE_END_MS = 300_000;
/**
 * A token counts as expired this long before its end, but at most this share of its life: the
 * request must arrive in time, and clocks differ.
 */
const END_MARGIN_MS = 10_000;
const END_MARGIN_SHARE = 0.1;

/** When a token is refreshed, and when it is no longer sent, in epoch milliseconds. */
export interface TokenLife {
  readonly refreshAtMs: number;
  readonly endsAtMs: number;
}

/** @param expiresAtMs null if the token does not expire */
export function computeTokenLife(issuedAtMs: number, expiresAtMs: number | null): TokenLife {
  if (expiresAtMs === null) return { refreshAtMs: Infinity, endsAtMs: Infinity };
  const lifeMs = expiresAtMs - issuedAtMs;
  const refreshAtMs = issuedAtMs + Math.max(lifeMs * REFRESH_SHARE, lifeMs - REFRESH_BEFORE_END_MS);
  return { refreshAtMs, endsAtMs: expiresAtMs - Math.min(END_MARGIN_MS, lifeMs * END_MARGIN_SHARE) };
}
