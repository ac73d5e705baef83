import { chatErrorBody, gatewayError } from '@gateway/contracts/errors';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

interface ParserProblem {
  readonly status: 400 | 408 | 431;
  readonly text: string;
}

/**
 * Answers bytes that are no acceptable HTTP request, on the bare connection and in the chat envelope (behaviour §1,
 * Envelopes). `hasBegun`: an answer is on its way, so nothing more can be said.
 * @param ids id headers: name, value, name, value, the gateway's first
 */
export function answerBrokenRequest(socket: Duplex, error: Error, ids: readonly string[], hasBegun: boolean): void {
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ECONNRESET' || !socket.writable || hasBegun) {
    socket.destroy();
    return;
  }
  const { status, text } = problemOf(code);
  writeRaw(socket, status, chatErrorBody(gatewayError('invalid_request', text, { status }), ids[1] ?? ''), ids);
}

/** A whole answer with its ids on a connection that node:http does not answer on; then closes it. */
export function writeRaw(socket: Duplex, status: number, body: string, ids: readonly string[]): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...ids.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${ids[index + 1] ?? ''}`] : [])),
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    `date: ${new Date().toUTCString()}`,
    'connection: close',
  ];
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)]));
}

function problemOf(code: string): ParserProblem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return { status: 431, text: 'The request headers are too large.' };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, text: 'The request did not arrive in time.' };
    default:
      return { status: 400, text: 'The request is not valid HTTP.' };
  }
}
