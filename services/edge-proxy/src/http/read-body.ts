import type { IncomingMessage, ServerResponse } from 'node:http';
import { BodyBuffer } from '@gateway/service-kit';
import { type HeldBytes, REQUEST_BODIES, UNAUTHENTICATED_BODIES } from '../memory/held-bytes.js';
import type { BodyRead, RequestBody } from '../ports.js';
import type { HttpLimits } from './http-limits.js';

export interface BodyLimits {
  /** Length that the request announces, or null if the body is chunked. */
  readonly announced: number | null;
  readonly bytesMax: number;
  /**
   * The account of the request's key, or null if the key is not confirmed yet. Without an account,
   * the announced length is counted before the body arrives.
   */
  readonly account: string | null;
}

/**
 * Reads a body of at most `bytesMax`, by counting its bytes and not by its announced length. A
 * larger body is `too_large`; a body that does not fit with the other held bodies is `overload`. A
 * body is counted by the memory that it takes, from its first byte until it is freed.
 */
export function readBody(request: IncomingMessage, reading: BodyLimits, pools?: BodyPools): Promise<BodyRead> {
  // A request that was closed earlier emits no more events.
  if (request.destroyed) return Promise.resolve({ kind: 'gone' });
  const { announced, bytesMax, account } = reading;
  const body = new CountedBody(account, pools);
  if (account === null && !body.growTo(announced ?? bytesMax, true)) return Promise.resolve({ kind: 'overload' });
  return new Promise((resolve) => {
    const buffer = new BodyBuffer(Math.min(announced ?? bytesMax, bytesMax));
    const finish = (read: BodyRead): void => {
      request.off('data', take);
      request.off('end', complete);
      request.off('close', leave);
      if (read.kind !== 'complete') body.free();
      resolve(read);
    };
    const take = (chunk: Buffer): void => {
      const length = buffer.length + chunk.length;
      if (length > bytesMax) {
        request.pause();
        finish({ kind: 'too_large' });
      } else if (!body.growTo(buffer.heldAfter(chunk), length === announced)) {
        request.pause();
        finish({ kind: 'overload' });
      } else buffer.append(chunk);
    };
    const complete = (): void => {
      body.complete(buffer.take());
      finish({ kind: 'complete', body });
    };
    const leave = (): void => finish({ kind: 'gone' });
    request.on('data', take);
    request.once('end', complete);
    request.once('close', leave);
  });
}

/** The rate of a body is checked from this age on. */
export const RATE_AFTER_MS = 10_000;

/** The pace of a body, computed from the bytes that its connection had read at each check. */
export class BodyPace {
  /** The request, as any object that identifies it. */
  readonly of: object;
  readonly #beganAtMs: number;
  readonly #beganAtBytes: number;
  #movedAtMs: number;
  #bytes: number;

  /** Records the first check. Times are monotonic. */
  constructor(of: object, nowMs: number, bytesRead: number) {
    this.of = of;
    this.#beganAtMs = nowMs;
    this.#beganAtBytes = bytesRead;
    this.#movedAtMs = nowMs;
    this.#bytes = bytesRead;
  }

  /** Returns whether the body was idle too long, or its average rate is below the minimum. */
  isTooSlow(
    nowMs: number,
    bytesRead: number,
    { bodyIdleMsMax, bodyBytesPerSecondMin }: Pick<HttpLimits, 'bodyIdleMsMax' | 'bodyBytesPerSecondMin'>,
  ): boolean {
    if (bytesRead !== this.#bytes) {
      this.#bytes = bytesRead;
      this.#movedAtMs = nowMs;
    }
    if (nowMs - this.#movedAtMs >= bodyIdleMsMax) return true;
    const ms = nowMs - this.#beganAtMs;
    return ms > RATE_AFTER_MS && bytesRead - this.#beganAtBytes < (ms / 1_000) * bodyBytesPerSecondMin;
  }
}

/**
 * Most bytes that are still read from a request after an early error, so that its client receives
 * the response. Official clients send the whole body before they read, and would retry after a
 * broken connection, so the limit is many times the largest body. The bytes are discarded. A client
 * that sends faster than this in {@link REST_MS_MAX} gains nothing over opening new connections.
 */
const REST_BYTES_MAX = 256 * 1024 * 1024;
const REST_MS_MAX = 10_000;

/**
 * Sends a complete response to a request that is still arriving, reads a limited number of bytes,
 * then closes the connection. Closing it immediately would reset it, and the client might not
 * receive the response.
 * @returns a function that ends the response without reading more
 */
export function closeAfterDraining(
  request: IncomingMessage,
  response: ServerResponse,
  last: Buffer | null,
): () => void {
  if (last !== null) response.write(last);
  let left = REST_BYTES_MAX;
  const close = (): void => {
    clearTimeout(timer);
    request.removeListener('data', count);
    response.end();
  };
  const count = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left < 0) close();
  };
  const timer = setTimeout(close, REST_MS_MAX);
  request.on('data', count);
  request.once('end', close);
  request.once('error', () => clearTimeout(timer));
  response.once('close', () => clearTimeout(timer));
  request.resume();
  return close;
}

/** Bytes that any account may hold, however small the pool: three of the largest bodies. */
const SHARE_BYTES_MIN = 32 * 1024 * 1024;

/** The pool bytes of each account's arriving bodies. No account may exceed its part. */
export class AccountShares {
  readonly #pool: HeldBytes;
  readonly #part: number;
  /** At most one entry per connection with an arriving body. */
  readonly #held = new Map<string, number>();

  /** @param part of the pool that one account may hold, 0 to 1 */
  constructor(pool: HeldBytes, part: number) {
    this.#pool = pool;
    this.#part = part;
  }

  /** Number of accounts that hold bytes. */
  get size(): number {
    return this.#held.size;
  }

  /** Counts more bytes for an account. Returns false and counts nothing if they exceed its part. */
  take(account: string, bytes: number): boolean {
    const held = (this.#held.get(account) ?? 0) + bytes;
    if (held > Math.max(SHARE_BYTES_MIN, this.#pool.bytesMax * this.#part)) return false;
    this.#held.set(account, held);
    return true;
  }

  give(account: string, bytes: number): void {
    const held = (this.#held.get(account) ?? 0) - bytes;
    if (held > 0) this.#held.set(account, held);
    else this.#held.delete(account);
  }
}

/** The part of the request body memory that one account may hold for arriving bodies. */
const ACCOUNT_PART = 0.25;
const NO_BYTES = Buffer.alloc(0);

/** The pools for counting bodies. */
export interface BodyPools {
  /** Bodies with a confirmed key. */
  readonly authenticated: HeldBytes;
  /** All other bodies. */
  readonly unauthenticated: HeldBytes;
  readonly shares: AccountShares;
}

const POOLS: BodyPools = {
  authenticated: REQUEST_BODIES,
  unauthenticated: UNAUTHENTICATED_BODIES,
  shares: new AccountShares(REQUEST_BODIES, ACCOUNT_PART),
};

/** A body and the bytes that it takes from the pools. */
export class CountedBody implements RequestBody {
  bytes: Buffer = NO_BYTES;
  readonly #account: string | null;
  readonly #pools: BodyPools;
  #pool: HeldBytes;
  #held = 0;
  /** Bytes that are counted for its account while it is arriving. */
  #shared = 0;

  /** @param account the account of its key; null if the key is not confirmed yet */
  constructor(account: string | null, pools: BodyPools = POOLS) {
    this.#account = account;
    this.#pools = pools;
    this.#pool = account === null ? pools.unauthenticated : pools.authenticated;
  }

  /**
   * Counts the body as this many bytes of memory, if that is more than before. Returns false and
   * counts nothing if they do not fit the pool or, while the body arrives, the account's part.
   * @param isWhole whether these bytes complete the body, so that the part does not limit them
   */
  growTo(bytes: number, isWhole: boolean): boolean {
    const more = bytes - this.#held;
    if (more <= 0) return true;
    if (!this.#pool.take(more)) return false;
    if (this.#account !== null && !isWhole) {
      if (!this.#pools.shares.take(this.#account, more)) {
        this.#pool.give(more);
        return false;
      }
      this.#shared += more;
    }
    this.#held += more;
    return true;
  }

  /** Stores the complete body, in memory of exactly its size. */
  complete(bytes: Buffer): void {
    this.bytes = bytes;
    this.#releaseTo(bytes.length);
  }

  opened(): void {
    const { authenticated } = this.#pools;
    // A body that does not fit the main pool stays counted in its present pool.
    if (this.#pool === authenticated || !authenticated.take(this.#held)) return;
    this.#pool.give(this.#held);
    this.#pool = authenticated;
  }

  free(): void {
    this.#releaseTo(0);
  }

  #releaseTo(bytes: number): void {
    if (this.#shared > 0) this.#pools.shares.give(this.#account ?? '', this.#shared);
    this.#shared = 0;
    this.#pool.give(this.#held - bytes);
    this.#held = bytes;
  }
}
