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
 */
export function answerBrokenRequest(socket: Duplex, error: Error, requestId: string, hasBegun: boolean): void {
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ECONNRESET' || !socket.writable || hasBegun) {
    socket.destroy();
    return;
  }
  const { status, text } = problemOf(code);
  writeRaw(socket, status, chatErrorBody(gatewayError('invalid_request', text, { status }), requestId), requestId);
}

/** A whole answer with both ids on a connection that node:http does not answer on; then closes it. */
export function writeRaw(socket: Duplex, status: number, body: string, requestId: string, clientId = requestId): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `x-gateway-request-id: ${requestId}`,
    `x-request-id: ${clientId}`,
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
