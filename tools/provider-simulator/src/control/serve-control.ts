import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CallFilter } from '../call/call-log.js';
import { readBody } from '../call/read-body.js';
import type { SimulatorState } from '../simulator-state.js';
import { integerOf, NAME_CHARACTERS_MAX, nameOf, objectOf } from '../scripts/check-field.js';
import { PERMITS_MAX } from '../scripts/semaphores.js';
import { parseScript } from '../scripts/parse-script.js';
import { InvalidControlInput } from '../scripts/script.js';

/** Prefix of the paths of control requests, on both listeners. */
export const CONTROL_PREFIX = '/__';

interface ControlAnswer {
  status: number;
  body?: unknown;
}

/**
 * Serves `/__script`, `/__release` and `/__calls`. Invalid input gets 400 with `{error: {message}}`
 * and changes nothing.
 */
export function serveControl(state: SimulatorState, request: IncomingMessage, response: ServerResponse): void {
  readBody(request, (outcome, bytes) => {
    if (outcome === 'left') return;
    const answer = outcome === 'too large' ? refusal(413, 'the body is too large') : decide(state, request, bytes);
    const text = answer.body === undefined ? '' : JSON.stringify(answer.body);
    if (text !== '') response.setHeader('content-type', 'application/json');
    if (outcome === 'too large') response.setHeader('connection', 'close');
    response.statusCode = answer.status;
    response.end(text);
  });
}

function decide(state: SimulatorState, request: IncomingMessage, bytes: Buffer): ControlAnswer {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://simulator');
  try {
    switch (`${request.method} ${pathname}`) {
      case 'POST /__script':
        queryOf(searchParams, []);
        state.scripts.add(parseScript(jsonOf(bytes)));
        return { status: 201, body: { queued: state.scripts.size } };
      case 'DELETE /__script':
        clearScripts(state, queryOf(searchParams, ['model'])['model']);
        return { status: 204 };
      case 'POST /__release':
        queryOf(searchParams, []);
        release(state, jsonOf(bytes));
        return { status: 204 };
      case 'GET /__calls':
        return listCalls(state, queryOf(searchParams, ['model', 'after']));
      default:
        return refusal(404, 'known: POST and DELETE /__script, POST /__release, GET /__calls');
    }
  } catch (error) {
    if (error instanceof InvalidControlInput) return refusal(400, error.message);
    throw error;
  }
}

/** Removes scripts, without a model also unused releases. Calls in progress continue. */
export function clearScripts(state: SimulatorState, model?: string): void {
  state.scripts.clear(model);
  if (model === undefined) state.semaphores.clear();
}

function release(state: SimulatorState, input: unknown): void {
  const { name, times } = objectOf(input, 'release', ['name', 'times']);
  const permits = times === undefined ? 1 : integerOf(times, 'times', 1, PERMITS_MAX);
  state.semaphores.release(nameOf(name, 'name', NAME_CHARACTERS_MAX), permits);
}

function listCalls(state: SimulatorState, query: Record<string, string>): ControlAnswer {
  if (state.log === undefined) return refusal(409, 'calls are not recorded: recording is off');
  const filter: CallFilter = {};
  if (query['model'] !== undefined) filter.model = query['model'];
  if (query['after'] !== undefined) {
    if (!/^\d+$/.test(query['after'])) throw new InvalidControlInput('after must be the seq of a call');
    filter.after = integerOf(Number(query['after']), 'after', 0, Number.MAX_SAFE_INTEGER);
  }
  return { status: 200, body: { data: state.log.list(filter) } };
}

function queryOf(parameters: URLSearchParams, allowed: string[]): Record<string, string> {
  return objectOf(Object.fromEntries(parameters), 'the query', allowed) as Record<string, string>;
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new InvalidControlInput('the body is not JSON');
  }
}

function refusal(status: number, message: string): ControlAnswer {
  return { status, body: { error: { message } } };
}
