import type { IncomingMessage, ServerResponse } from 'node:http';
import { BodyBuffer } from '@gateway/service-kit';
import { type BodyPools, CountedBody } from '../memory/counted-body.js';
import type { BodyRead } from '../ports.js';
import type { HttpLimits } from './http-limits.js';

export interface BodyReading {
  /** Bytes that the body announces; null when it is chunked. */
  readonly announced: number | null;
  readonly bytesMax: number;
  /**
   * Whose key it came with; null while nobody has confirmed that: the body is counted as it is
   * announced, before it comes.
   */
  readonly account: string | null;
}

/**
 * Reads a body up to `bytesMax`, counting rather than trusting its announcement. One byte more is
 * `too_large`; one that does not fit among those that are held is `overload`. A body is counted by
 * the memory that it takes, from its first byte until it is freed.
 */
export function readBody(request: IncomingMessage, reading: BodyReading, pools?: BodyPools): Promise<BodyRead> {
  // A request that was closed before tells nobody any more.
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

/** From when on the rate of a body counts. */
export const RATE_AFTER_MS = 10_000;

/** How fast a body comes, told from how many bytes its connection had read at each look. */
export class BodyPace {
  /** The request, as whatever tells it from others. */
  readonly of: object;
  readonly #beganAtMs: number;
  readonly #beganAtBytes: number;
  #movedAtMs: number;
  #bytes: number;

  /** The first look. Times are monotonic. */
  constructor(of: object, nowMs: number, bytesRead: number) {
    this.of = of;
    this.#beganAtMs = nowMs;
    this.#beganAtBytes = bytesRead;
    this.#movedAtMs = nowMs;
    this.#bytes = bytesRead;
  }

  /** Nothing came for long, or on average less than what is asked for. */
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
 * What is still read of a request that is refused before its end, so that its client gets to see
 * the answer: many times the largest body, since official clients write theirs whole before they
 * read, and would repeat a call that broke. Nothing of it is kept; who sends faster than this in
 * {@link REST_MS_MAX} could as well open new connections.
 */
const REST_BYTES_MAX = 256 * 1024 * 1024;
const REST_MS_MAX = 10_000;

/**
 * Sends a complete answer to a request that is still being sent, reads a bounded rest, then closes
 * the connection: closing at once would reset it, and the client might never see the answer.
 * @returns ends the answer without reading more
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
