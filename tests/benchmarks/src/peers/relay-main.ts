import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { type Dispatcher, Pool } from 'undici';

/**
 * The minimum work of a gateway on Node: reads the body and its model, forwards the request, relays
 * the response and reads its usage. It has no keys, limits, money or failover.
 */
const CONNECTIONS_MAX = 8_192;
const USAGE_MARK = '"usage":{';

const [port = '', upstream = ''] = process.argv.slice(2);
const pool = new Pool(upstream, { connections: CONNECTIONS_MAX, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
/** The tokens that were read. Printed at the end, so that reading cannot be optimised away. */
let tokensTotal = 0;

createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => forward(request, Buffer.concat(parts), response));
}).listen(Number(port), '127.0.0.1');

process.once('SIGTERM', () => {
  process.stdout.write(`tokens read: ${tokensTotal}\n`);
  process.exit(0);
});

function forward({ url, headers }: IncomingMessage, body: Buffer, response: ServerResponse): void {
  const { model } = parse(body.toString('utf8')) as { model?: unknown };
  if (typeof model !== 'string') {
    response.writeHead(400).end();
    return;
  }
  const sent = {
    'content-type': 'application/json',
    authorization: headers.authorization ?? '',
    'accept-encoding': 'identity',
  };
  pool.dispatch({ path: url ?? '/', method: 'POST', headers: sent, body }, new Relay(response));
}

class Relay implements Dispatcher.DispatchHandler {
  readonly #plain: Buffer[] = [];
  #isStream = false;

  constructor(private readonly response: ServerResponse) {}

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
    const known = length === undefined ? {} : { 'content-length': String(length) };
    this.response.writeHead(status, { 'content-type': type, ...known });
    this.response.on('drain', () => controller.resume());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#isStream) this.#plain.push(chunk);
    else if (chunk.includes(USAGE_MARK)) {
      for (const frame of chunk.toString('utf8').split('\n\n'))
        if (frame.startsWith('data: {')) readUsage(frame.slice('data: '.length));
    }
    if (!this.response.write(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    if (!this.#isStream) readUsage(Buffer.concat(this.#plain).toString('utf8'));
    this.response.end();
  }

  onResponseError(): void {
    if (this.response.headersSent) this.response.destroy();
    else this.response.writeHead(502).end();
  }
}

function readUsage(json: string): void {
  const { usage } = parse(json) as { usage?: { total_tokens?: number } | null };
  tokensTotal += usage?.total_tokens ?? 0;
}

/** Returns {} for invalid JSON, such as a frame that was cut between two packets. */
function parse(json: string): object {
  try {
    return JSON.parse(json) as object;
  } catch {
    return {};
  }
}
