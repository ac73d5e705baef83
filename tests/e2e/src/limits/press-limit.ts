import { setTimeout as delay } from 'node:timers/promises';
import { chat, errorCode, HELLO } from '../../test/call.js';

export interface PressedCall {
  readonly requestId: string;
  readonly answer: string;
  readonly retryAfter: number | null;
  readonly begunAt: number;
  readonly endedAt: number;
}

export interface PressOptions {
  readonly edgeUrls: readonly string[];
  readonly secret: string;
  readonly model: string;
  readonly calls: number;
  readonly inFlight: number;
  /** A response that does not count: the client waits and repeats the call. Default: none. */
  readonly backOff?: string | null;
  /** Times the calls. Default: the clock of this process. */
  readonly nowMs?: () => number;
}

/**
 * Wait after a refusal by the limit on slots. Much shorter than its Retry-After, so that clients
 * compete for freed slots.
 */
const BACK_OFF_MS = 60;
/** Limits the calls that do not count, so that a run ends if the limit never has room. */
const BACK_OFFS_MAX = 400_000;

/** Number of the next call. Calls use the edges in turn, also single ones. */
let turn = 0;

/** Makes the calls. Returns all responses, also those that do not count. */
export async function press(options: PressOptions): Promise<PressedCall[]> {
  const { edgeUrls, secret, model, calls, inFlight, backOff = null, nowMs = Date.now } = options;
  const seen: PressedCall[] = [];
  const callOnce = async (): Promise<string> => {
    const edgeUrl = edgeUrls[(turn += 1) % edgeUrls.length];
    const begunAt = nowMs();
    const body = { model, messages: HELLO };
    const { status, text, headers, requestId, cut } = await chat(`${edgeUrl}/v1/chat/completions`, secret, body);
    const answer = cut ? `${status} cut` : status === 200 ? '200' : `${status} ${errorCode(text)}`;
    const retryAfter = headers['retry-after'] === undefined ? null : Number(headers['retry-after']);
    seen.push({ requestId, answer, retryAfter, begunAt, endedAt: nowMs() });
    return answer;
  };
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < calls) {
      begun += 1;
      while ((await callOnce()) === backOff && seen.length <= calls + BACK_OFFS_MAX) await delay(BACK_OFF_MS);
    }
  };
  await Promise.all(Array.from({ length: Math.min(calls, inFlight) }, worker));
  return seen;
}
