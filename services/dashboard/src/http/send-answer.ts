import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Most bytes and time for reading the rest of a request whose response is already sent. Without
 * this, the client may not receive the response.
 */
const REST_BYTES_MAX = 1024 * 1024;
const REST_MS_MAX = 2_000;

/** Ends the response with JSON or no body, uncached, because it may hold secrets. */
export function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: object | undefined,
): void {
  if (response.headersSent || response.destroyed) return;
  const text = body === undefined ? undefined : JSON.stringify(body);
  response.statusCode = status;
  response.setHeader('cache-control', 'no-store');
  response.setHeader('x-content-type-options', 'nosniff');
  if (text !== undefined) {
    response.setHeader('content-type', 'application/json; charset=utf-8');
    response.setHeader('content-length', Buffer.byteLength(text));
  }
  if (request.complete || !hasBody(request)) {
    response.end(text);
    return;
  }
  response.setHeader('connection', 'close');
  if (request.method !== 'HEAD' && text !== undefined) response.write(text);
  endAfterRest(request, response);
}

function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/**
 * Reads the rest of the request before closing. Closing while the client still sends would reset
 * the connection and lose the response.
 */
function endAfterRest(request: IncomingMessage, response: ServerResponse): void {
  let left = REST_BYTES_MAX;
  const end = (): void => {
    clearTimeout(timer);
    request.off('data', count);
    response.end();
    if (left < 0) request.socket.destroySoon();
  };
  const count = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left < 0) end();
  };
  const timer = setTimeout(() => {
    left = -1;
    end();
  }, REST_MS_MAX);
  request.on('data', count).once('end', end);
  response.once('close', () => clearTimeout(timer));
  request.resume();
}
