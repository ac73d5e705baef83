import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBody } from '../call/read-body.js';
import { InvalidControlInput, NAME, TIMES, checkFields, parseScript } from '../scripts/script.js';
import type { SimulatorState } from '../simulator-state.js';

/** Prefix of the paths of control requests, on both listeners. */
export const CONTROL_PREFIX = '/__';

type ControlAnswer = readonly [status: number, body?: unknown];

/**
 * Serves `/__script`, `/__release` and `/__calls`. Invalid input gets 400 with `{error: {message}}`
 * and changes nothing.
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
  const query = (...fields: readonly ('model' | 'after')[]): { model?: string; after?: string } => {
    const checks = Object.fromEntries(fields.map((field) => [field, field === 'model' ? NAME : SEQ]));
    return checkFields(Object.fromEntries(searchParams), 'query', checks);
  };
  try {
    switch (`${request.method} ${pathname}`) {
      case 'POST /__script':
        query();
        state.scripts.add(parseScript(parseJson(bytes)));
        return [201, { queued: state.scripts.size }];
      case 'DELETE /__script':
        clearScripts(state, query('model').model);
        return [204];
      case 'POST /__release': {
        query();
        const { name, times = 1 } = checkFields(parseJson(bytes), 'release', { name: NAME, times: TIMES }, ['name']);
        state.semaphores.release(String(name), Number(times));
        return [204];
      }
      case 'GET /__calls': {
        const { model, after } = query('model', 'after');
        if (state.log === undefined) return refusal(409, 'calls are not recorded: recording is off');
        return [200, { data: state.log.list({ model, after: after === undefined ? undefined : Number(after) }) }];
      }
      default:
        return refusal(404, 'known: POST and DELETE /__script, POST /__release, GET /__calls');
    }
  } catch (error) {
    if (error instanceof InvalidControlInput) return refusal(400, error.message);
    throw error;
  }
}

const SEQ = [(value: unknown) => /^\d{1,15}$/.test(String(value)), 'the seq of a call'] as const;

/** Removes scripts, without a model also unused releases. Calls in progress continue. */
export function clearScripts(state: SimulatorState, model?: string): void {
  state.scripts.clear(model);
  if (model === undefined) state.semaphores.clear();
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
