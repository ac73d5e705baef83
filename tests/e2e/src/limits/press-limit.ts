import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { errorCode, HELLO } from '../../test/call.js';

export interface PressedCall {
  readonly requestId: string;
  readonly answer: string;
  readonly retryAfter: number | null;
  readonly begunAt: number;
  readonly endedAt: number;
}

export interface PressOptions {
  readonly secret: string;
  readonly model: string;
  readonly calls: number;
  readonly inFlight: number;
  /** A response that does not count: the client waits and repeats the call. */
  readonly backOff: string | null;
}

/**
 * Wait after a refusal by the limit on slots. Much shorter than its Retry-After, so that clients
 * compete for freed slots.
 */
const BACK_OFF_MS = 60;
/** Limits the calls that do not count, so that a run ends if the limit never has room. */
const BACK_OFFS_MAX = 400_000;
const ANSWER_MS_MAX = 60_000;

export class Clients {
  readonly #pools: readonly Pool[];
  readonly #clockOffsetMs: number;
  #next = 0;

  /** @param clockOffsetMs offset of the limit store's clock, which times the calls */
  constructor(edgeUrls: readonly string[], inFlight: number, clockOffsetMs = 0) {
    this.#clockOffsetMs = clockOffsetMs;
    const settings = {
      connections: inFlight,
      pipelining: 1,
      headersTimeout: ANSWER_MS_MAX,
      bodyTimeout: ANSWER_MS_MAX,
    };
    this.#pools = edgeUrls.map((url) => new Pool(url, settings));
  }

  /**
   * Makes the calls over all edges in turn. Returns all responses, also those that do not count.
   */
  async press({ secret, model, calls, inFlight, backOff }: PressOptions): Promise<PressedCall[]> {
    const seen: PressedCall[] = [];
    const body = JSON.stringify({ model, messages: HELLO });
    let begun = 0;
    const worker = async (): Promise<void> => {
      while (begun < calls) {
        begun += 1;
        for (;;) {
          const call = await this.#call(secret, body);
          seen.push(call);
          if (call.answer !== backOff || seen.length > calls + BACK_OFFS_MAX) break;
          await delay(BACK_OFF_MS);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(calls, inFlight) }, worker));
    return seen;
  }

  /** Time of the limit store, epoch milliseconds. */
  nowMs(): number {
    return Date.now() + this.#clockOffsetMs;
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.close()));
  }

  async #call(secret: string, body: string): Promise<PressedCall> {
    const pool = this.#pools[(this.#next += 1) % this.#pools.length];
    if (pool === undefined) throw new Error('there is no edge');
    const begunAt = this.nowMs();
    const {
      statusCode,
      headers,
      body: answer,
    } = await pool.request({
      path: '/v1/chat/completions',
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body,
    });
    const text = await answer.text();
    const retryAfter = headers['retry-after'];
    return {
      requestId: String(headers['x-gateway-request-id']),
      answer: statusCode === 200 ? '200' : `${statusCode} ${errorCode(text)}`,
      retryAfter: retryAfter === undefined ? null : Number(retryAfter),
      begunAt,
      endedAt: this.nowMs(),
    };
  }
}
