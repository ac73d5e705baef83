import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { z } from 'zod';
import { PAGE_ERRORS, type PageError, playgroundRequest } from '@gateway/contracts/pages';
import { REQUEST_ID_HEADER } from '../../http/refusals.js';
import type { RouteResult } from '../../http/route.js';
import { type AccountRequest, defineRoute, refusePage } from '../route.js';
import { ensurePlaygroundKey, playgroundOwner } from './deciding-state.js';
import type { EdgeAnswer } from './edge-client.js';

/** Large, because each message repeats the whole conversation. */
const BODY_BYTES_MAX = 1024 * 1024;
/** Headers of the gateway's response that are passed to the page. */
const PASSED_HEADERS = ['content-type', 'retry-after', REQUEST_ID_HEADER];
const UNAUTHORIZED = 401;
/** Most bytes of a 401 that are read to find its error code. */
const REFUSAL_BYTES_MAX = 64 * 1024;

type Request = AccountRequest & { readonly body: z.output<typeof playgroundRequest> };

export const PLAYGROUND_ROUTES = [
  defineRoute({
    id: 'playground',
    access: 'member',
    method: 'POST',
    path: '/accounts/{account}/playground',
    body: playgroundRequest,
    bodyBytesMax: BODY_BYTES_MAX,
    handle: (request): Promise<RouteResult> =>
      Promise.resolve({ status: 200, stream: (response) => streamAnswer(request, response) }),
  }),
];

/** Streams the response to one message. Ends the request if the page disconnects. */
async function streamAnswer(request: Request, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  response.once('close', leave);
  try {
    const answer = await callEdge(request, gone.signal);
    if ('refused' in answer) return sendRefusal(request, response, answer.refused.code, answer.refused.message);
    response.statusCode = answer.status;
    for (const name of PASSED_HEADERS) {
      const value = answer.headers[name];
      if (value !== undefined) response.setHeader(name, value);
    }
    response.setHeader('cache-control', 'no-store');
    response.setHeader('x-accel-buffering', 'no');
    response.flushHeaders();
    await pipeline(answer.body, response);
  } catch (err) {
    if (gone.signal.aborted) return;
    request.log.warn({ requestId: request.requestId, err }, 'a playground response was aborted');
    if (response.headersSent) response.destroy();
    else sendRefusal(request, response, 'dependency_unavailable', 'the gateway did not respond; try again');
  } finally {
    response.off('close', leave);
  }
}

/**
 * Sends the request. If the edge does not know the key, creates it and tries again: on first use,
 * and after a change of the session secret.
 */
async function callEdge(request: Request, signal: AbortSignal) {
  const { sessions, edge, account, author, body } = request;
  const owner = playgroundOwner(account);
  const { secret } = sessions.playgroundKey(owner);
  const call = { ...body, stream: true, stream_options: { include_usage: true } };
  const first = await readKnownResponse(await edge.chat(secret, call, signal));
  if (first !== null) return first;
  const refusal = await ensurePlaygroundKey(request, owner, author);
  if (refusal !== null) return refusal;
  const second = await readKnownResponse(await edge.chat(secret, call, signal));
  return second ?? refusePage('dependency_unavailable', 'the key of the playground is not in force yet; try again');
}

/**
 * Returns the response, or null if the edge does not know the key. A 401 may also mean that a
 * provider refused the gateway's credential, and a new key would not help then.
 */
async function readKnownResponse(answer: EdgeAnswer): Promise<EdgeAnswer | null> {
  if (answer.status !== UNAUTHORIZED) return answer;
  const read: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer.body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    read.push(piece);
    bytes += piece.length;
    if (bytes > REFUSAL_BYTES_MAX) break;
  }
  if (isUnknownKey(Buffer.concat(read).toString())) return null;
  return { ...answer, body: Readable.from(prependRead(read, answer.body)) };
}

function isUnknownKey(text: string): boolean {
  try {
    return (JSON.parse(text) as { error?: { code?: unknown } } | null)?.error?.code === 'invalid_api_key';
  } catch {
    return false;
  }
}

/** Yields the part of a body that was already read, then the rest. */
async function* prependRead(read: readonly Buffer[], rest: Readable): AsyncGenerator<Buffer> {
  yield* read;
  yield* rest as AsyncIterable<Buffer>;
}

function sendRefusal(
  { requestId }: Request,
  response: ServerResponse,
  code: keyof typeof PAGE_ERRORS,
  message: string,
): void {
  response.statusCode = PAGE_ERRORS[code];
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('cache-control', 'no-store');
  response.end(JSON.stringify({ error: { code, message, param: null, request_id: requestId } } satisfies PageError));
}
