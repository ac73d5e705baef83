import { connect } from 'node:net';
import type { Socket } from 'node:net';

export type Json = Record<string, unknown>;

/** Sends a POST request with a JSON body. */
export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

export async function postForJson(url: string, body: unknown): Promise<Json> {
  return (await (await post(url, body)).json()) as Json;
}

/**
 * One server-sent event: its name, if any, and its data, parsed unless it is the end marker of the
 * chat formats.
 */
export interface StreamEvent {
  event: string | undefined;
  data: Json | '[DONE]';
}

export function eventsOf(text: string): StreamEvent[] {
  const blocks = text.split('\n\n');
  if (blocks.pop() !== '') throw new Error('the stream does not end with an empty line');
  return blocks.map((block) => {
    const lines = block.split('\n');
    const data = lines.find((line) => line.startsWith('data: '))?.slice('data: '.length) ?? '';
    const event = lines.find((line) => line.startsWith('event: '))?.slice('event: '.length);
    return { event, data: data === '[DONE]' ? data : (JSON.parse(data) as Json) };
  });
}

export async function postForEvents(url: string, body: Json): Promise<StreamEvent[]> {
  const response = await post(url, { ...body, stream: true });
  if (response.headers.get('content-type') !== 'text/event-stream; charset=utf-8') {
    throw new Error(`not a stream: ${response.status} ${await response.text()}`);
  }
  return eventsOf(await response.text());
}

/** A client on a raw socket. It sees the bytes and how the connection ended. */
export interface RawClient {
  socket: Socket;
  received(): string;
  /** `open`, `ended` (FIN) or the error code. */
  state(): string;
}

export async function rawPost(url: string, path: string, body: Json, headers: string[] = []): Promise<RawClient> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let received = '';
  let state = 'open';
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => (received += text));
  socket.on('end', () => (state = 'ended'));
  socket.on('error', (error: NodeJS.ErrnoException) => (state = error.code ?? 'error'));
  const text = JSON.stringify(body);
  const head = [`POST ${path} HTTP/1.1`, 'Host: simulator', `Content-Length: ${Buffer.byteLength(text)}`, ...headers];
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('connect', resolve);
  });
  socket.write(`${head.join('\r\n')}\r\n\r\n${text}`);
  return { socket, received: () => received, state: () => state };
}
