import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBody } from '../call/read-body.js';
import { InvalidControlInput, NAME, checkFields, parseScript } from '../scripts/script.js';
import type { SimulatorState } from '../simulator-state.js';

/** Prefix of the paths of control requests, on both listeners. */
export const CONTROL_PREFIX = '/__';

type ControlAnswer = readonly [status: number, body?: unknown];

/**
 * Serves `/__script` and `/__calls`. Invalid input gets 400 with `{error: {message}}` and changes
 * nothing.
 */
export function serveControl(state: SimulatorState, request: IncomingMessage, response: ServerResponse): void {
  readBody(request, (outcome, bytes) => {
    if (outcome === 'left') return;
    const [status, body] =
      outcome === 'too large' ? refusal(413, 'the body is too large') : decide(state, request, bytes);
    response.writeHead(status, body === undefined ? {} : { 'content-type': 'application/json' });
    response.end(body === undefined ? '' : JSON.stringify(body));
  });
}

function decide(state: SimulatorState, request: IncomingMessage, bytes: Buffer): ControlAnswer {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://simulator');
  try {
    if (request.method === 'POST' && pathname === '/__script') {
      state.scripts.add(parseScript(parseJson(bytes)));
      return [201, { queued: state.scripts.size }];
    }
    if (request.method !== 'GET' || pathname !== '/__calls') return refusal(404, 'known: POST /__script, GET /__calls');
    const query = checkFields(Object.fromEntries(searchParams), 'query', { model: NAME, after: SEQ });
    const { model, after = 0 } = query as { model?: string; after?: string };
    if (state.log === undefined) return refusal(409, 'calls are not recorded: recording is off');
    return [200, { data: state.log.list({ model, after: Number(after) }) }];
  } catch (error) {
    if (error instanceof InvalidControlInput) return refusal(400, error.message);
    throw error;
  }
}

const SEQ = [(value: unknown) => /^\d{1,15}$/.test(String(value)), 'the seq of a call'] as const;

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new InvalidControlInput('the body is not JSON');
  }
}

function refusal(status: number, message: string): ControlAnswer {
  return [status, { error: { message } }];
}
