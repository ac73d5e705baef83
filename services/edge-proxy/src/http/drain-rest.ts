import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * What is still read of a request that is refused before its end, so that its client gets to see
 * the answer: many times the largest body, since official clients write theirs whole before they
 * read, and would repeat a call that broke. Nothing of it is kept; who sends faster than this in
 * {@link REST_MS_MAX} could as well open new connections.
 */
const REST_BYTES_MAX = 256 * 1024 * 1024;
const REST_MS_MAX = 10_000;

/**
 * Sends a complete answer to a request that is still being sent, reads a bounded rest, then closes
 * the connection: closing at once would reset it, and the client might never see the answer.
 * @returns ends the answer without reading more
 */
export function closeAfterDraining(
  request: IncomingMessage,
  response: ServerResponse,
  last: Buffer | null,
): () => void {
  if (last !== null) response.write(last);
  let left = REST_BYTES_MAX;
  const close = (): void => {
    clearTimeout(timer);
    request.removeListener('data', count);
    response.end();
  };
  const count = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left < 0) close();
  };
  const timer = setTimeout(close, REST_MS_MAX);
  request.on('data', count);
  request.once('end', close);
  request.once('error', () => clearTimeout(timer));
  response.once('close', () => clearTimeout(timer));
  request.resume();
  return close;
}
