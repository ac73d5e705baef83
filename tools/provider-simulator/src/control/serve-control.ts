import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { InvalidControlInput, label, parseInput, parseScript } from '../scripts/script.js';
import type { Received, SimulatorState } from '../simulator-state.js';

/** Prefix of the paths of control requests, on both listeners. */
export const CONTROL_PREFIX = '/__';

type ControlAnswer = readonly [status: number, body: unknown];

const query = z.strictObject({
  model: label.optional(),
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the seq of a call')
    .optional(),
});

/**
 * Serves `/__script` and `/__calls`. Invalid input gets 400 with `{error: {message}}` and changes
 * nothing.
 */
export function serveControl(
  state: SimulatorState,
  request: IncomingMessage,
  response: ServerResponse,
  { outcome, bytes }: Received,
): void {
  if (outcome === 'left') return;
  const [status, body] =
    outcome === 'too large' ? refusal(413, 'the body is too large') : decide(state, request, bytes);
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function decide(state: SimulatorState, request: IncomingMessage, bytes: Buffer): ControlAnswer {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://simulator');
  try {
    if (request.method === 'POST' && pathname === '/__script') {
      state.scripts.add(parseScript(parseJson(bytes)));
      return [201, { queued: state.scripts.size }];
    }
    if (request.method !== 'GET' || pathname !== '/__calls') return refusal(404, 'known: POST /__script, GET /__calls');
    const { model, after = 0 } = parseInput(query, Object.fromEntries(searchParams));
    if (state.log === undefined) return refusal(409, 'calls are not recorded: recording is off');
    return [200, { data: state.log.list({ model, after: Number(after) }) }];
  } catch (error) {
    if (error instanceof InvalidControlInput) return refusal(400, error.message);
    throw error;
  }
}

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
