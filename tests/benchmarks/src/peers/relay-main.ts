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
/** The tokens that were read. Logged at the end, so that reading cannot be optimized away. */
let tokensTotal = 0;

createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => forward(request, Buffer.concat(parts), response));
}).listen(Number(port), '127.0.0.1');
process.once('exit', () => console.log(tokensTotal));

function forward({ url, headers }: IncomingMessage, body: Buffer, response: ServerResponse): void {
  const { model } = parse(body.toString('utf8')) as { model?: unknown };
  if (typeof model !== 'string') return void response.writeHead(400).end();
  const { authorization = '' } = headers;
  const sent = { 'content-type': 'application/json', authorization, 'accept-encoding': 'identity' };
  const request = { path: url ?? '/', method: 'POST' as const, headers: sent, body };
  pool.dispatch(request, createHandler(response));
}

function createHandler(response: ServerResponse): Dispatcher.DispatchHandler {
  const plain: Buffer[] = [];
  let isStream = false;
  return {
    // undici recognizes this form of handlers by this method.
    onRequestStart: () => undefined,
    onResponseStart(controller, status, headers) {
      const type = String(headers['content-type'] ?? '');
      isStream = type.startsWith('text/event-stream');
      const length = headers['content-length'];
      const known = length === undefined ? {} : { 'content-length': String(length) };
      response.writeHead(status, { 'content-type': type, ...known });
      response.on('drain', () => controller.resume());
    },
    onResponseData(controller, chunk) {
      if (!isStream) plain.push(chunk);
      else if (chunk.includes(USAGE_MARK)) {
        for (const frame of chunk.toString('utf8').split('\n\n'))
          if (frame.startsWith('data: {')) readUsage(frame.slice('data: '.length));
      }
      if (!response.write(chunk)) controller.pause();
    },
    onResponseEnd() {
      if (!isStream) readUsage(Buffer.concat(plain).toString('utf8'));
      response.end();
    },
    onResponseError: () => void response.destroy(),
  };
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
