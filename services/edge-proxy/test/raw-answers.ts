import { connect, type Socket } from 'node:net';

/** One response as it was received. */
export interface RawResponse {
  readonly status: number;
  /** Lower-case names, with the first value of each. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** Whether its body is complete. */
  readonly isComplete: boolean;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Parses the responses on a connection, without interim ones. Throws on anything else, and on a
 * response without an ID header.
 */
export function readAnswers(wire: string): RawResponse[] {
  const answers: RawResponse[] = [];
  let rest = wire;
  while (rest !== '') {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd < 0) throw new Error(`incomplete head: ${JSON.stringify(rest.slice(0, 200))}`);
    const [line = '', ...lines] = rest.slice(0, headEnd).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
    if (!(status >= 100)) throw new Error(`not a response: ${JSON.stringify(line.slice(0, 200))}`);
    rest = rest.slice(headEnd + 4);
    if (status < 200) continue;
    const headers = headersOf(lines);
    requireIds(headers, line);
    const { body, length, isComplete } = bodyOf(rest, headers);
    answers.push({ status, headers, body, isComplete });
    rest = rest.slice(length);
  }
  return answers;
}

function headersOf(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const each of lines) {
    const colon = each.indexOf(':');
    const name = each.slice(0, colon).toLowerCase();
    if (!headers.has(name)) headers.set(name, each.slice(colon + 1).trim());
  }
  return headers;
}

function requireIds(headers: ReadonlyMap<string, string>, line: string): void {
  const own = headers.get('x-gateway-request-id') ?? '';
  if (!UUID.test(own) || (headers.get('x-request-id') ?? '') === '') throw new Error(`response without IDs: ${line}`);
}

function bodyOf(
  text: string,
  headers: ReadonlyMap<string, string>,
): { body: string; length: number; isComplete: boolean } {
  if (headers.get('transfer-encoding') === 'chunked') return chunkedBody(text);
  // A stream to an HTTP/1.0 client, which ends with its connection.
  const isUnframed = !headers.has('content-length') && headers.get('connection') === 'close';
  const length = isUnframed ? text.length : Number(headers.get('content-length') ?? 0);
  return { body: text.slice(0, length), length, isComplete: text.length >= length };
}

function chunkedBody(text: string): { body: string; length: number; isComplete: boolean } {
  let at = 0;
  let body = '';
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at);
    const size = lineEnd < 0 ? Number.NaN : Number.parseInt(text.slice(at, lineEnd), 16);
    const end = lineEnd + 2 + size + 2;
    if (Number.isNaN(size) || end > text.length) return { body, length: text.length, isComplete: false };
    if (size === 0) return { body, length: end, isComplete: true };
    body += text.slice(lineEnd + 2, end - 2);
    at = end;
  }
}

export interface RawClient {
  readonly socket: Socket;
  /** Returns the bytes received so far, one character per byte. */
  wire(): string;
  closed: Promise<void>;
}

/** Most bytes that are kept of an endless response. Further bytes are read and dropped. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024;

/** Sends `bytes` on a plain connection and keeps the bytes that it receives. */
export function rawClient(port: number, bytes: string | Buffer = ''): RawClient {
  let wire = '';
  const socket = connect(port, '127.0.0.1', () => {
    if (bytes.length > 0) socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  });
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    if (wire.length < KEPT_BYTES_MAX) wire += chunk.toString('latin1');
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return { socket, wire: () => wire, closed };
}

/** Returns all responses received until the gateway closes the connection. */
export async function answersTo(port: number, bytes: string | Buffer): Promise<RawResponse[]> {
  const client = rawClient(port, bytes);
  await client.closed;
  return readAnswers(client.wire());
}
