import type { IncomingMessage, ServerResponse } from 'node:http';
import { countTokens, messages } from '../answers/anthropic.js';
import type { Endpoint, Problem } from '../answers/answer.js';
import { chat, completions, embeddings, responses } from '../answers/openai.js';
import { playScript } from '../scripts/play-script.js';
import { BODY_BYTES_MAX, type Listener, type Received, type SimulatorState } from '../simulator-state.js';
import { answerCall, answerError, modelOf, parseBody } from './answer-call.js';

const BEARER = /^bearer +([^ ].*)$/i;
const VERSION = /^\/v1(?=\/)/;
const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  '/chat/completions': chat,
  '/completions': completions,
  '/messages': messages,
  '/messages/count_tokens': countTokens,
  '/responses': responses,
  '/embeddings': embeddings,
};

/** Serves one request after its body was read. */
export function serveCall(
  state: SimulatorState,
  listener: Listener,
  request: IncomingMessage,
  response: ServerResponse,
  received: Received,
): void {
  const body = received.outcome === 'complete' ? parseBody(received.bytes) : undefined;
  const model = modelOf(body);
  const seq = (state.seq += 1);
  const onOwnEnd = recordCall(state, listener, request, response, { ...received, seq, model });
  if (received.outcome === 'left') return;
  const id = `sim${seq}`;
  const [path = ''] = (request.url ?? '').split('?');
  const endpoint = ENDPOINTS[path.replace(VERSION, '')];
  const refuse = (status: number, detail?: Problem): void =>
    answerError(response, endpoint?.format ?? 'openai', status, id, detail);
  if (received.outcome === 'too large') {
    response.setHeader('connection', 'close');
    return refuse(413, { message: `The body is larger than ${BODY_BYTES_MAX} bytes.` });
  }
  if (endpoint === undefined) return refuse(404, { message: `Unknown path ${path}.` });
  if (request.method !== 'POST') return refuse(405);
  if (state.requireKey !== undefined && !carriesKey(request, state.requireKey)) return refuse(401);
  const call = { endpoint, body, id, response };
  const script = state.scripts.take(model ?? '', listener.name);
  if (script === undefined) return answerCall(call, state.chunkDelayMs);
  const { semaphores, chunkDelayMs } = state;
  void playScript(call, script, { semaphores, chunkDelayMs, onOwnEnd });
}

/**
 * Records a call, also when its client disconnects early. Returns a function to call before the
 * simulator itself breaks the connection, which is no abort of the client.
 */
function recordCall(
  state: SimulatorState,
  listener: Listener,
  request: IncomingMessage,
  response: ServerResponse,
  { seq, model, outcome, bytes }: Received & { readonly seq: number; readonly model: string | undefined },
): () => void {
  const { method = '', url: path = '', rawHeaders } = request;
  const headers = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as const] : []));
  const call = { seq, listener: listener.name, method, path, headers, body: bytes, model };
  const record = state.log?.add({ ...call, aborted: false });
  let isEndedByScript = false;
  const abort = (): void => {
    if (record !== undefined) record.aborted = true;
  };
  if (outcome === 'left') abort();
  else
    response.once('close', () => {
      if (!response.writableFinished && !isEndedByScript && listener.isOpen) abort();
    });
  return () => void (isEndedByScript = true);
}

/** Reads both headers, because providers of the two formats use different ones. */
function carriesKey(request: IncomingMessage, key: string): boolean {
  const bearer = BEARER.exec(request.headers.authorization ?? '')?.[1];
  return bearer === key || request.headers['x-api-key'] === key;
}
