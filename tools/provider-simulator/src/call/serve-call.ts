import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ProviderFormat } from '../answers/answer.js';
import { findEndpoint } from '../answers/endpoints.js';
import type { Listener } from '../listen/listener.js';
import type { SimulatorState } from '../simulator-state.js';
import { playScript } from '../scripts/play-script.js';
import { answerCall, answerError } from './answer-call.js';
import { BODY_BYTES_MAX, readBody } from './read-body.js';
import type { BodyOutcome } from './read-body.js';
import { parseBody } from './parse-call.js';
import type { ParsedBody } from './parse-call.js';

const BEARER = /^bearer +(.*)$/i;

/**
 * Serves all requests except control requests: reads the body, records the call, responds by script
 * or default.
 */
export function serveCall(
  state: SimulatorState,
  listener: Listener,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  readBody(request, (outcome, bytes) => {
    const body = outcome === 'complete' ? parseBody(bytes) : undefined;
    const callState = recordCall(state, listener, request, response, { bytes, body, outcome });
    if (outcome !== 'left') answer(state, listener, path, request, response, { body, outcome, callState });
  });
}

/** State of a call during its response. */
interface CallState {
  seq: number;
  /** True if the simulator itself broke the connection, so that the client did not abort. */
  isEndedByScript: boolean;
}

function recordCall(
  state: SimulatorState,
  listener: Listener,
  request: IncomingMessage,
  response: ServerResponse,
  read: { bytes: Buffer; body: ParsedBody | undefined; outcome: BodyOutcome },
): CallState {
  const seq = ++state.seq;
  state.counters.calls[listener.name] += 1;
  const callState: CallState = { seq, isEndedByScript: false };
  const record = state.log && {
    seq,
    atMs: state.now(),
    listener: listener.name,
    method: request.method ?? '',
    path: request.url ?? '',
    rawHeaders: request.rawHeaders,
    body: read.bytes,
    model: read.body?.model,
    aborted: read.outcome === 'left',
  };
  if (record !== undefined) state.log?.add(record);
  if (read.outcome === 'left') {
    state.counters.aborted += 1;
    return callState;
  }
  response.once('close', () => {
    if (response.writableFinished || callState.isEndedByScript || !listener.isOpen) return;
    state.counters.aborted += 1;
    if (record !== undefined) record.aborted = true;
  });
  return callState;
}

function answer(
  state: SimulatorState,
  listener: Listener,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  call: { body: ParsedBody | undefined; outcome: BodyOutcome; callState: CallState },
): void {
  const { body, outcome, callState } = call;
  const id = `sim${callState.seq}`;
  const endpoint = findEndpoint(path);
  const format: ProviderFormat = endpoint?.format ?? 'openai';
  if (outcome === 'too large') {
    response.setHeader('connection', 'close');
    const message = `The body is larger than ${BODY_BYTES_MAX} bytes.`;
    return answerError(response, format, 413, id, { message, param: null });
  }
  if (endpoint === undefined) {
    return answerError(response, format, 404, id, { message: `Unknown path ${path}.`, param: null });
  }
  if (request.method !== 'POST') return answerError(response, format, 405, id);
  if (state.requireKey !== undefined && !carriesKey(request, state.requireKey)) {
    return answerError(response, format, 401, id);
  }
  const modelCall = { endpoint, body, id, response };
  const actions = body?.model === undefined ? undefined : state.scripts.take(body.model, listener.name);
  if (actions === undefined) return answerCall(modelCall, state.settings, state.now());
  const onOwnEnd = (): void => {
    callState.isEndedByScript = true;
  };
  void playScript(modelCall, actions, {
    semaphores: state.semaphores,
    settings: state.settings,
    now: state.now,
    onOwnEnd,
  });
}

/** Reads both headers, because providers of the two formats use different ones. */
function carriesKey(request: IncomingMessage, key: string): boolean {
  const bearer = BEARER.exec(request.headers.authorization ?? '')?.[1];
  return bearer === key || request.headers['x-api-key'] === key;
}
