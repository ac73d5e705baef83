import { gatewayError, type GatewayError } from '@gateway/contracts/errors';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorBody } from './write-error.js';
import type { EndpointStyle } from '../formats/endpoints.js';
import { readBrokenHead } from './broken-head.js';
import type { ClientConnection } from './client-connection.js';
import { idHeadersOf } from './http-request.js';

const HALF_CLOSED_MS_MAX = 5_000;

const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT';
/** What node would say of a request that is overdue. */
export const TOO_SLOW: Error = Object.assign(new Error('the body comes too slowly'), { code: TIMED_OUT });

interface ParserProblem {
  readonly status: 400 | 408 | 431;
  readonly text: string;
}

/** What an answer is made of when node's parser made no request of its head. */
export interface HeadlessAnswering {
  readonly newId: () => string;
  readonly styleOf: (path: string) => EndpointStyle;
  /** The answer to `unsupported_endpoint`. */
  readonly noEndpoint: GatewayError;
}

/**
 * Answers bytes that are no acceptable HTTP request, or that did not come in time: in the shape of
 * the request's path, in the chat envelope where no path is known. What is wrong behind a complete
 * request harms neither it nor those before it: their answers end first, and then the connection.
 * @param connection the requests of this connection; undefined when none has come yet
 */
export function answerBrokenRequest(
  socket: Duplex,
  error: Error,
  connection: Pick<ClientConnection, 'last'> | undefined,
  headless: HeadlessAnswering,
): void {
  // Told again for each packet that comes after what was answered.
  if (socket.writableEnded) return;
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const last = connection?.last ?? null;
  if (last?.isRequestComplete === true) return last.closeConnection();
  if (last?.hasBegun === true) return last.endAtOnce();
  const { status, text } = problemOf(code);
  const problem = gatewayError('invalid_request', text, { status });
  if (last === null) answerHeadless(socket, error, problem, headless);
  else last.endUnread(status, Buffer.from(errorBody(problem, last.ids[1] ?? '', last.style)));
}

/**
 * With what the client sent of its id and path, as far as it can be read; a method or path that no
 * endpoint has is `unsupported_endpoint`.
 */
function answerHeadless(
  socket: Duplex,
  error: Error,
  problem: GatewayError,
  { newId, styleOf, noEndpoint }: HeadlessAnswering,
): void {
  const { requestId, path, isNoEndpoint } = readBrokenHead(error);
  const [id, style] = [newId(), styleOf(path)];
  const refusal = isNoEndpoint ? noEndpoint : problem;
  writeRaw(socket, refusal.status, errorBody(refusal, id, style), idHeadersOf(id, requestId ?? id, style));
}

/**
 * A whole answer with its ids on a connection that node:http does not answer on; then closes it. A
 * client that does not close its side is waited for {@link HALF_CLOSED_MS_MAX}: closing both at
 * once could take the answer from one that still sends.
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
    case TIMED_OUT:
      return { status: 408, text: 'The request did not arrive in time.' };
    default:
      return { status: 400, text: 'The request is not valid HTTP.' };
  }
}
