import { request as httpRequest, type Agent, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { TEST_KEY, TEST_MODEL } from './edge-world.js';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: Buffer | string;
  readonly key?: string | null;
  /** Local address of the connection. */
  readonly localAddress?: string;
  /** Keeps the connection for further requests. */
  readonly agent?: Agent;
  /** Aborts the request. */
  readonly signal?: AbortSignal;
}

/**
 * Sends one request, on a new connection unless `agent` is set. Rejects if the response is
 * incomplete.
 */
export async function send(url: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  const answer = await begin(url, path, options);
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await bytesOf(answer) };
}

/** Sends a request and resolves with the response head. */
export function begin(url: string, path: string, options: RequestOptions = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const key = options.key === undefined ? TEST_KEY : options.key;
    const headers = { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...options.headers };
    const method = options.method ?? (options.body === undefined ? 'GET' : 'POST');
    const { agent = false, localAddress, signal } = options;
    const request = httpRequest(new URL(path, url), { method, headers, agent, localAddress, signal });
    request.on('response', resolve);
    request.on('error', reject);
    request.end(options.body);
  });
}

export function bytesOf(answer: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => chunks.push(chunk));
    answer.on('end', () => resolve(Buffer.concat(chunks)));
    answer.on('error', reject);
  });
}

/** Returns body and headers of a chat request. */
export function chat(fields: Record<string, unknown> = {}): Pick<RequestOptions, 'body' | 'headers'> {
  return {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: TEST_MODEL, messages: [{ role: 'user', content: 'Say something.' }], ...fields }),
  };
}

/** Sends bytes on a plain connection and returns all bytes received until it is closed. */
export function exchangeRaw(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
  });
}
