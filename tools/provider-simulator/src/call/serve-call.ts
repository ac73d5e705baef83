import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Endpoint, JsonObject, ProviderFormat } from '../answers/answer.js';
import { chat, completions } from '../answers/completions.js';
import { embeddings } from '../answers/embeddings.js';
import { countTokens, messages } from '../answers/messages.js';
import { responses } from '../answers/responses.js';
import { playScript } from '../scripts/play-script.js';
import type { Listener, SimulatorState } from '../simulator-state.js';
import { answerCall, answerError, modelOf, parseBody } from './answer-call.js';
import { BODY_BYTES_MAX, type BodyOutcome, readBody } from './read-body.js';

const BEARER = /^bearer +(.*)$/i;
const VERSION = /^\/v1(?=\/)/;
const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  '/chat/completions': chat,
  '/completions': completions,
  '/messages': messages,
  '/messages/count_tokens': countTokens,
  '/responses': responses,
  '/embeddings': embeddings,
};

/** One call: its parsed body, and its state during the response. */
interface ReceivedCall {
  readonly body: JsonObject | undefined;
  readonly outcome: BodyOutcome;
  readonly seq: number;
  /** True if the simulator itself broke the connection, so that the client did not abort. */
  isEndedByScript: boolean;
}

/** Serves all requests except control requests. */
export function serveCall(
  state: SimulatorState,
  listener: Listener,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  readBody(request, (outcome, bytes) => {
    const body = outcome === 'complete' ? parseBody(bytes) : undefined;
    const call = { body, outcome, seq: (state.seq += 1), isEndedByScript: false };
    recordCall(state, listener, request, response, bytes, call);
    if (outcome !== 'left') answer(state, listener, request, response, call);
  });
}

function recordCall(
  state: SimulatorState,
  listener: Listener,
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
  call: ReceivedCall,
): void {
  state.counters.calls[listener.name] += 1;
  const record = state.log && {
    seq: call.seq,
    atMs: Date.now(),
    listener: listener.name,
    method: request.method ?? '',
    path: request.url ?? '',
    rawHeaders: request.rawHeaders,
    body: bytes,
    model: modelOf(call.body),
    aborted: false,
  };
  if (record !== undefined) state.log?.add(record);
  const abort = (): void => {
    state.counters.aborted += 1;
    if (record !== undefined) record.aborted = true;
  };
  if (call.outcome === 'left') return abort();
  response.once('close', () => {
    if (!response.writableFinished && !call.isEndedByScript && listener.isOpen) abort();
  });
}

function answer(
  state: SimulatorState,
  listener: Listener,
  request: IncomingMessage,
  response: ServerResponse,
  call: ReceivedCall,
): void {
  const { body, outcome } = call;
  const id = `sim${call.seq}`;
  const [path = ''] = (request.url ?? '').split('?');
  const endpoint = ENDPOINTS[path.replace(VERSION, '')];
  const format: ProviderFormat = endpoint?.format ?? 'openai';
  if (outcome === 'too large') {
    response.setHeader('connection', 'close');
    const message = `The body is larger than ${BODY_BYTES_MAX} bytes.`;
    return answerError(response, format, 413, id, { message, param: null });
  }
  if (endpoint === undefined)
    return answerError(response, format, 404, id, { message: `Unknown path ${path}.`, param: null });
  if (request.method !== 'POST') return answerError(response, format, 405, id);
  if (state.requireKey !== undefined && !carriesKey(request, state.requireKey))
    return answerError(response, format, 401, id);
  const modelCall = { endpoint, body, id, response };
  const actions = state.scripts.take(modelOf(body) ?? '', listener.name);
  if (actions === undefined) return answerCall(modelCall, state.chunkDelayMs);
  const { semaphores, chunkDelayMs } = state;
  const onOwnEnd = (): void => void (call.isEndedByScript = true);
  void playScript(modelCall, actions, { semaphores, chunkDelayMs, onOwnEnd });
}

/** Reads both headers, because providers of the two formats use different ones. */
function carriesKey(request: IncomingMessage, key: string): boolean {
  const bearer = BEARER.exec(request.headers.authorization ?? '')?.[1];
  return bearer === key || request.headers['x-api-key'] === key;
}
