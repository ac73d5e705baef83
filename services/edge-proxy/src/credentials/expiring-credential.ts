import { nextDelayMs, within } from '@gateway/service-kit';
import { failureCode } from './credential-text.js';
import { CredentialError } from '../ports.js';

/** One request for a token ends after this time, whatever it waits for. */
const FETCH_MS_MAX = 10_000;
/** After a failed request the next one waits: at first so long, doubling, at most so long. */
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 30_000;
/** A provider's refusals replace a credential no more often. */
const REPLACE_EVERY_MS = 30_000;

/** What was issued. */
export interface Issued<T> {
  readonly value: T;
  /** Epoch milliseconds; null: it does not end. */
  readonly expiresAtMs: number | null;
}

/** A credential that is in force. */
export interface Held<T> {
  readonly value: T;
  readonly version: number;
}

export interface ExpiringCredentialParts<T> {
  /** Rejects when there is none; a {@link CredentialError}'s text becomes the reason. */
  readonly fetch: () => Promise<Issued<T>>;
  /** Epoch milliseconds. */
  readonly nowMs: () => number;
  readonly random: () => number;
  /** A request has ended. `reason` null: there is a new credential. Names no secret. */
  readonly ended: (reason: string | null) => void;
}

/**
 * A credential that expires, shared by all calls. One request at a time fetches the next one, ahead
 * of the end: calls go on with the one at hand meanwhile. Nothing is fetched that no call asks for.
 */
export class ExpiringCredential<T> {
  readonly #parts: ExpiringCredentialParts<T>;
  #held: (Held<T> & { readonly life: TokenLife }) | null = null;
  #version = 0;
  #flight: Promise<Held<T>> | null = null;
  /** Requests in a row that failed. */
  #failures = 0;
  #failure: CredentialError | null = null;
  #retryAtMs = 0;
  #replaceableAtMs = 0;

  constructor(parts: ExpiringCredentialParts<T>) {
    this.#parts = parts;
  }

  /** At once while one is in force. Rejects with {@link CredentialError}. */
  get(): Held<T> | Promise<Held<T>> {
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

  /** Whether there is another than this version, or one may be fetched. */
  mayReplace(version: number): boolean {
    return version !== this.#held?.version || this.#parts.nowMs() >= this.#replaceableAtMs;
  }

  /** Forgets that version: the next call waits for another. */
  replace(version: number): void {
    const nowMs = this.#parts.nowMs();
    if (version !== this.#held?.version || nowMs < this.#replaceableAtMs) return;
    this.#held = null;
    this.#replaceableAtMs = nowMs + REPLACE_EVERY_MS;
  }

  #begin(nowMs: number): Promise<Held<T>> {
    const flight = this.#fetch(nowMs).finally(() => (this.#flight = null));
    // Of one that is fetched ahead nobody hears.
    flight.catch(() => undefined);
    return (this.#flight = flight);
  }

  async #fetch(nowMs: number): Promise<Held<T>> {
    try {
      const { value, expiresAtMs } = await within(this.#parts.fetch(), FETCH_MS_MAX);
      const life = tokenLife(nowMs, expiresAtMs);
      if (life.endsAtMs <= this.#parts.nowMs()) throw new CredentialError('the issued credential has ended already');
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
    this.#failure = err instanceof CredentialError ? err : new CredentialError(failureCode(err));
    ended(this.#failure.message);
    return this.#failure;
  }
}

/** A token is replaced after this share of its life, or so long before its end if that is later. */
const REFRESH_SHARE = 0.8;
const REFRESH_BEFORE_END_MS = 300_000;
/**
 * A token counts as ended so long before it ends, at most this share of its life: the request has
 * to arrive, and clocks differ.
 */
const END_MARGIN_MS = 10_000;
const END_MARGIN_SHARE = 0.1;

/** When a token is to be replaced, and until when it is sent; epoch milliseconds. */
export interface TokenLife {
  readonly refreshAtMs: number;
  readonly endsAtMs: number;
}

/** @param expiresAtMs null: it does not end */
export function tokenLife(issuedAtMs: number, expiresAtMs: number | null): TokenLife {
  if (expiresAtMs === null) return { refreshAtMs: Infinity, endsAtMs: Infinity };
  const lifeMs = expiresAtMs - issuedAtMs;
  const refreshAtMs = issuedAtMs + Math.max(lifeMs * REFRESH_SHARE, lifeMs - REFRESH_BEFORE_END_MS);
  return { refreshAtMs, endsAtMs: expiresAtMs - Math.min(END_MARGIN_MS, lifeMs * END_MARGIN_SHARE) };
}
