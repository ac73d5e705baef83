import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { HELLO } from '../../test/call.js';
import { decided } from '../../test/decided.js';
import type { Decidable } from '../../test/decided.js';

/** What a client read of one call. */
export interface PressedCall {
  readonly requestId: string;
  /** `200`, or status and code. */
  readonly answer: string;
  readonly retryAfter: number | null;
  /** Epoch milliseconds around the call. */
  readonly begunAtMs: number;
  readonly endedAtMs: number;
}

export interface PressOptions {
  readonly secret: string;
  readonly model: string;
  /** Answers that are counted. */
  readonly calls: number;
  readonly inFlight: number;
  /** An answer that is not counted: the client backs off and calls again. */
  readonly backOff: string | null;
}

/**
 * Of a client that met the limit on slots: far below what the answer asks for, so that freed slots
 * are fought for.
 */
const BACK_OFF_MS = 60;
/** Bounds the calls that are not counted, so that a limit that never yields ends the run. */
const BACK_OFFS_MAX = 400_000;
const ANSWER_MS_MAX = 60_000;

/** Clients with connections to all edges. */
export class Clients {
  readonly #pools: readonly Pool[];
  readonly #clockOffsetMs: number;
  #next = 0;

  /** @param clockOffsetMs of the clock that decides: calls are timed by it */
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
   * So many calls, so many in flight, over the edges in turn; a call that nobody decided is made
   * again. Gives every answer, those not counted and undecided too.
   */
  async press({ secret, model, calls, inFlight, backOff }: PressOptions): Promise<PressedCall[]> {
    const seen: PressedCall[] = [];
    const body = JSON.stringify({ model, messages: HELLO });
    let begun = 0;
    const worker = async (): Promise<void> => {
      while (begun < calls) {
        begun += 1;
        for (;;) {
          const { call } = await decided(async () => {
            const made = await this.#call(secret, body);
            seen.push(made.call);
            return made;
          });
          if (call.answer !== backOff || seen.length > calls + BACK_OFFS_MAX) break;
          await delay(BACK_OFF_MS);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(calls, inFlight) }, worker));
    return seen;
  }

  /** The clock that decides, epoch milliseconds. */
  nowMs(): number {
    return Date.now() + this.#clockOffsetMs;
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.close()));
  }

  async #call(secret: string, body: string): Promise<Decidable & { readonly call: PressedCall }> {
    const pool = this.#pools[(this.#next += 1) % this.#pools.length];
    if (pool === undefined) throw new Error('there is no edge');
    const begunAtMs = this.nowMs();
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
    const call = {
      requestId: String(headers['x-gateway-request-id']),
      answer: statusCode === 200 ? '200' : `${statusCode} ${codeOf(text)}`,
      retryAfter: retryAfter === undefined ? null : Number(retryAfter),
      begunAtMs,
      endedAtMs: this.nowMs(),
    };
    return { status: statusCode, text, call };
  }
}

function codeOf(text: string): string {
  const { error } = JSON.parse(text) as { error?: { code?: unknown } };
  return String(error?.code);
}
