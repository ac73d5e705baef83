import { chatErrorBody, gatewayError, messagesErrorBody, type GatewayError } from '@gateway/contracts/errors';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { EndpointStyle } from '../domain/endpoints.js';
import type { ClientConnection } from './client-connection.js';

const HALF_CLOSED_MS_MAX = 5_000;

interface ParserProblem {
  readonly status: 400 | 408 | 431;
  readonly text: string;
}

/**
 * Answers bytes that are no acceptable HTTP request, or that did not come in time: in the shape of the request's path, in the
 * chat envelope where no path is known. What is wrong behind a complete request harms neither it nor those before it: their
 * answers end first, and then the connection.
 * @param connection the requests of this connection; undefined when none has come yet
 * @param newIds id headers for a request of which no head is known: name, value, name, value, the gateway's first
 */
export function answerBrokenRequest(
  socket: Duplex,
  error: Error,
  connection: Pick<ClientConnection, 'last'> | undefined,
  newIds: () => readonly string[],
): void {
  // Told again for each packet that comes after what was answered.
  if (socket.writableEnded) return;
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const last = connection?.last ?? null;
  if (last?.isRequestComplete === true) return last.closeConnection();
  if (last?.hasBegun === true) return last.endAtOnce();
  const { status, text } = problemOf(code);
  const ids = last?.ids ?? newIds();
  const body = errorBody(gatewayError('invalid_request', text, { status }), ids[1] ?? '', last?.style ?? 'chat');
  if (last === null) writeRaw(socket, status, body, ids);
  else last.endUnread(status, Buffer.from(body));
}

/** An error as text, in the shape of its path. */
export function errorBody(error: GatewayError, id: string, style: EndpointStyle): string {
  return style === 'chat' ? chatErrorBody(error, id) : messagesErrorBody(error, id);
}

/**
 * A whole answer with its ids on a connection that node:http does not answer on; then closes it. A client that does not close
 * its side is waited for {@link HALF_CLOSED_MS_MAX}: closing both at once could take the answer from one that still sends.
 */
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
  const timer = setTimeout(() => socket.destroy(), HALF_CLOSED_MS_MAX);
  socket.once('close', () => clearTimeout(timer));
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
