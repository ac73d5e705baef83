import { gatewayError, type GatewayError } from '@gateway/contracts/errors';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { formatErrorBody } from './write-error.js';
import type { EndpointStyle } from '../formats/endpoints.js';
import { readBrokenHead } from './broken-head.js';
import type { ClientConnection } from './client-connections.js';
import { buildIdHeaders } from './http-request.js';

const HALF_CLOSED_MS_MAX = 5_000;

const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT';
/** The error that Node reports for an overdue request. */
export const TOO_SLOW: Error = Object.assign(new Error('the body comes too slowly'), { code: TIMED_OUT });

interface ParserProblem {
  readonly status: 400 | 408 | 431;
  readonly text: string;
}

/** Functions for a response to a request whose head Node's parser rejected. */
export interface HeadlessContext {
  readonly newId: () => string;
  readonly styleOf: (path: string) => EndpointStyle;
  /** The `unsupported_endpoint` error. */
  readonly noEndpoint: GatewayError;
}

/**
 * Responds to bytes that are not an acceptable HTTP request, or that did not arrive in time. The
 * envelope is that of the request's path, or the chat envelope if no path is known. An error after
 * a complete request affects neither that request nor earlier ones: the connection closes after
 * their responses.
 * @param connection the connection's requests; undefined before the first one
 */
export function answerBrokenRequest(
  socket: Duplex,
  error: Error,
  connection: Pick<ClientConnection, 'last'> | undefined,
  headless: HeadlessContext,
): void {
  // Node emits the error again for each later packet.
  if (socket.writableEnded) return;
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const last = connection?.last ?? null;
  if (last?.isRequestComplete === true) return last.closeConnection();
  if (last?.hasBegun === true) return last.endAtOnce();
  const { status, text } = problemOf(code);
  const problem = gatewayError('invalid_request', text, { status });
  if (last === null) answerHeadless(socket, error, problem, headless);
  else last.endUnread(status, Buffer.from(formatErrorBody(problem, last.ids[1] ?? '', last.style)));
}

/**
 * Responds with the client's request ID and in the envelope of its path, as far as the head can be
 * read. If the parser rejected the method or the path, the error is `unsupported_endpoint`.
 */
function answerHeadless(
  socket: Duplex,
  error: Error,
  problem: GatewayError,
  { newId, styleOf, noEndpoint }: HeadlessContext,
): void {
  const { requestId, path, isNoEndpoint } = readBrokenHead(error);
  const [id, style] = [newId(), styleOf(path)];
  const refusal = isNoEndpoint ? noEndpoint : problem;
  writeRaw(socket, refusal.status, formatErrorBody(refusal, id, style), buildIdHeaders(id, requestId ?? id, style));
}

/**
 * Writes a complete response to a connection that node:http no longer manages, then closes it.
 * Closing both directions at once could discard the response while the client is still sending, so
 * the client has {@link HALF_CLOSED_MS_MAX} to close its side.
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
