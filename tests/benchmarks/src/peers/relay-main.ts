import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Pool } from 'undici';
import type { Dispatcher } from 'undici';

/**
 * The minimum work of a gateway on Node: reads the body and its model, forwards the request, relays
 * the response and reads its usage. It has no keys, limits, money or failover.
 */
const UPSTREAM_CONNECTIONS_MAX = 8_192;
const USAGE_MARK = '"usage":{';

const [port = '', upstream = ''] = process.argv.slice(2);
const pool = new Pool(upstream, {
  connections: UPSTREAM_CONNECTIONS_MAX,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
});
/** The tokens that were read. Printed at the end, so that reading cannot be optimised away. */
let tokensTotal = 0;

createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => forward(request, Buffer.concat(pieces), response));
}).listen(Number(port), '127.0.0.1');

process.once('SIGTERM', () => {
  process.stdout.write(`tokens read: ${tokensTotal}\n`);
  process.exit(0);
});

function forward(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
  let fields: { model?: unknown };
  try {
    fields = JSON.parse(body.toString('utf8')) as { model?: unknown };
  } catch {
    fields = {};
  }
  if (typeof fields.model !== 'string') {
    response.writeHead(400).end();
    return;
  }
  const headers = [
    'content-type',
    'application/json',
    'authorization',
    request.headers.authorization ?? '',
    'accept-encoding',
    'identity',
  ];
  pool.dispatch({ path: request.url ?? '/', method: 'POST', headers, body }, new Relay(response));
}

class Relay implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  readonly #plain: Buffer[] = [];
  #isStream = false;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** undici recognises this form of handlers by this method. */
  onRequestStart(): void {
    this.#isStream = false;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    const type = String(headers['content-type'] ?? '');
    this.#isStream = type.startsWith('text/event-stream');
    const length = headers['content-length'];
    this.#response.writeHead(status, {
      'content-type': type,
      ...(length === undefined ? {} : { 'content-length': String(length) }),
    });
    this.#response.on('drain', () => controller.resume());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#isStream) this.#plain.push(chunk);
    else if (chunk.includes(USAGE_MARK)) readFrames(chunk.toString('utf8'));
    if (!this.#response.write(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    if (!this.#isStream) readUsage(Buffer.concat(this.#plain).toString('utf8'));
    this.#response.end();
  }

  onResponseError(): void {
    if (this.#response.headersSent) this.#response.destroy();
    else this.#response.writeHead(502).end();
  }
}

function readFrames(text: string): void {
  for (const frame of text.split('\n\n')) {
    if (frame.startsWith('data: {')) readUsage(frame.slice('data: '.length));
  }
}

function readUsage(json: string): void {
  try {
    const { usage } = JSON.parse(json) as { usage?: { total_tokens?: number } | null };
    tokensTotal += usage?.total_tokens ?? 0;
  } catch {
    // A frame that was cut between two packets: this relay does not put it together.
  }
}
