import type { ServerResponse } from 'node:http';

/**
 * Aborts a response, so that the client sees that it is incomplete. An HTTP/1.0 body without a
 * length ends when the connection closes, so only a reset signals the abort.
 */
export function breakOff(response: ServerResponse): void {
  const { socket, useChunkedEncodingByDefault: isChunked } = response;
  if (isChunked || socket === null) response.destroy();
  else socket.resetAndDestroy();
}
