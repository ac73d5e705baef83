import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { CALL_MS_MAX, PlannedAbort } from './reading.js';
import type { ClientRequest, Reading } from './reading.js';

const SLOW_PAUSE_MS = 25;
const HEAD_END = '\r\n\r\n';
const DONE = 'data: [DONE]';

/**
 * Sends a request over a plain socket. No SDK can send half a request, read slowly or reset the
 * connection.
 */
export async function callRaw({ plan, place, prompt, maxTokens }: ClientRequest, reading: Reading): Promise<void> {
  const body = JSON.stringify({
    model: place.modelId,
    messages: [{ role: 'user', content: prompt }],
    max_tokens: maxTokens,
    ...(plan.streamed ? { stream: true, stream_options: { include_usage: true } } : {}),
  });
  const { hostname, port, host } = new URL(place.edgeUrl);
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    `host: ${host}`,
    `authorization: Bearer ${place.secret}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ].join('\r\n');
  const bytes = `${head}${HEAD_END}${body}`;
  const abort = new PlannedAbort(plan, reading);
  const socket = connect(Number(port), hostname);
  socket.setNoDelay(true);
  // A broken connection is detected by the missing part of the response.
  socket.on('error', () => undefined);
  try {
    if (plan.leaves === 'half_sent') {
      reading.hasLeft = true;
      await new Promise((resolve) => socket.write(bytes.slice(0, bytes.length - body.length / 2), resolve));
      return;
    }
    socket.write(bytes);
    const leave = (): void => {
      // Odd numbers reset the connection like a crashed process, even numbers close it.
      if (plan.n % 2 === 0 || socket.connecting) socket.destroy();
      else socket.resetAndDestroy();
    };
    abort.signal.addEventListener('abort', leave, { once: true });
    const read = await readAll(socket, plan.isSlow, () => abort.pieceRead());
    readAnswer(read, plan.streamed, reading);
  } finally {
    abort.over();
    socket.destroy();
  }
}

function readAll(socket: Socket, isSlow: boolean, onPiece: () => void): Promise<string> {
  let read = '';
  socket.setEncoding('latin1');
  socket.setTimeout(CALL_MS_MAX, () => socket.destroy());
  return new Promise((resolve) => {
    socket.on('data', (chunk) => {
      read += String(chunk);
      for (let at = String(chunk).indexOf('"delta"'); at >= 0; at = String(chunk).indexOf('"delta"', at + 1)) onPiece();
      if (!isSlow) return;
      socket.pause();
      setTimeout(() => socket.resume(), SLOW_PAUSE_MS);
    });
    socket.on('close', () => resolve(read));
  });
}

function readAnswer(read: string, streamed: boolean, reading: Reading): void {
  const headEnd = read.indexOf(HEAD_END);
  if (headEnd < 0) return;
  const head = read.slice(0, headEnd);
  reading.status = Number(head.split(' ')[1]);
  reading.requestId = headerOf(head, 'x-gateway-request-id');
  const { body, isEnded } = bodyOf(read.slice(headEnd + HEAD_END.length), head);
  if (reading.status !== 200) {
    reading.code = isEnded ? ((JSON.parse(body) as { error?: { code?: string } }).error?.code ?? null) : null;
    return;
  }
  if (streamed) readStream(body, reading);
  else if (isEnded) readPlain(body, reading);
  // A client detects a complete response by the final event or by the end of the body.
  reading.isWhole = isEnded || body.includes(DONE);
}

interface ChatAnswer {
  readonly choices?: readonly {
    readonly message?: { readonly content?: string };
    readonly delta?: { readonly content?: string };
  }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
}

function readPlain(body: string, reading: Reading): void {
  const { choices, usage } = JSON.parse(body) as ChatAnswer;
  reading.text = choices?.[0]?.message?.content ?? '';
  reading.usage = usage ? { input: usage.prompt_tokens, output: usage.completion_tokens } : null;
}

function readStream(body: string, reading: Reading): void {
  for (const sseEvent of body.split('\n\n').slice(0, -1)) {
    if (!sseEvent.startsWith('data: {')) continue;
    const { choices, usage } = JSON.parse(sseEvent.slice('data: '.length)) as ChatAnswer;
    reading.text += choices?.[0]?.delta?.content ?? '';
    if (usage) reading.usage = { input: usage.prompt_tokens, output: usage.completion_tokens };
  }
}

function bodyOf(rest: string, head: string): { body: string; isEnded: boolean } {
  const length = headerOf(head, 'content-length');
  if (length !== null) return { body: rest, isEnded: rest.length >= Number(length) };
  let body = '';
  for (let at = 0; ;) {
    const sizeEnd = rest.indexOf('\r\n', at);
    if (sizeEnd < 0) return { body, isEnded: false };
    const size = parseInt(rest.slice(at, sizeEnd), 16);
    if (size === 0) return { body, isEnded: true };
    body += rest.slice(sizeEnd + 2, sizeEnd + 2 + size);
    at = sizeEnd + 2 + size + 2;
  }
}

function headerOf(head: string, name: string): string | null {
  const value = new RegExp(`\\r\\n${name}: ([^\\r]*)`, 'i').exec(head)?.[1];
  // Copies the value: a substring would keep the whole response in memory, and a long run stores
  // the request IDs of all calls.
  return value === undefined ? null : Buffer.from(value, 'latin1').toString('latin1');
}
