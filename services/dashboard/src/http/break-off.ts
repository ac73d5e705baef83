import type { ServerResponse } from 'node:http';

/**
 * Ends an answer before its end, so that its client sees that it is not whole. Over HTTP/1.0 a body
 * without a length ends with its connection: nothing but a reset is no such end.
 */
export function breakOff(response: ServerResponse): void {
  const { socket, useChunkedEncodingByDefault: isChunked } = response;
  if (isChunked || socket === null) response.destroy();
  else socket.resetAndDestroy();
}
