import { PAGE_ERRORS, playgroundRequest, type PageError } from '@gateway/contracts/pages';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { z } from 'zod';
import { refusePage } from '../refusals.js';
import { REQUEST_ID_HEADER } from '../../http/refusals.js';
import type { EdgeAnswer } from '../../page-ports.js';
import { accountRoute, type AccountContext, type PageHandled } from '../route.js';
import { ensurePlaygroundKey, playgroundOwner } from './deciding-state.js';

/** Long texts are sent again with each turn. */
const BODY_BYTES_MAX = 1024 * 1024;
/** Headers of the gateway's answer that the page gets. */
const PASSED_HEADERS = ['content-type', 'retry-after', REQUEST_ID_HEADER];
const UNAUTHORIZED = 401;

type Request = AccountContext & { readonly body: z.output<typeof playgroundRequest> };

export const PLAYGROUND_ROUTES = [
  accountRoute('member', {
    id: 'playground',
    method: 'POST',
    path: '/playground',
    body: playgroundRequest,
    bodyBytesMax: BODY_BYTES_MAX,
    handle: (request): Promise<PageHandled> =>
      Promise.resolve({ status: 200, stream: (from, to) => turn(request, from, to) }),
  }),
];

/** One turn: the gateway's answer as it comes. A page that goes away ends its call. Never rejects. */
async function turn(request: Request, _from: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  response.once('close', leave);
  try {
    const answer = await ask(request, gone.signal);
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
    request.door.log.warn({ requestId: request.requestId, err }, 'a turn of the playground was cut off');
    if (response.headersSent) response.destroy();
    else sendRefusal(request, response, 'dependency_unavailable', 'the gateway did not answer');
  } finally {
    response.off('close', leave);
  }
}

/** The key is made when it is first needed, and again when the session secret is another. */
async function ask({ door, account, actor, body }: Request, signal: AbortSignal) {
  const owner = playgroundOwner(account);
  const { secret } = door.sessions.playgroundKey(owner);
  const call = { ...body, stream: true, stream_options: { include_usage: true } };
  const first = await door.edge.chat(secret, call, signal);
  if (first.status !== UNAUTHORIZED) return first;
  discard(first);
  const refusal = await ensurePlaygroundKey(door, owner, actor);
  if (refusal !== null) return refusal;
  const second = await door.edge.chat(secret, call, signal);
  if (second.status !== UNAUTHORIZED) return second;
  discard(second);
  return refusePage('dependency_unavailable', 'the key of the playground is not in force yet; try again');
}

function discard({ body }: EdgeAnswer): void {
  body.on('error', () => undefined).resume();
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
