import type { IncomingMessage, ServerResponse } from 'node:http';
import { closeServer, createHttpServer, hasValidHost, listen } from './http-server.js';
import type { ReadyChecks } from './ready-checks.js';

export interface AdminOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly ready: ReadyChecks;
  readonly metrics: (request: IncomingMessage, response: ServerResponse) => void;
}

export interface AdminServer {
  /** Without a trailing slash. */
  readonly url: string;
  stop(): Promise<void>;
}

const REQUEST_MS = 5_000;
const BOUNDS = {
  keepAliveMs: REQUEST_MS,
  headMsMax: REQUEST_MS,
  requestMsMax: REQUEST_MS,
  headBytesMax: 8_192,
  headersMax: 100,
  connectionsMax: 64,
};

/**
 * Starts the admin address: /healthz (this process responds), /readyz (every named check passes),
 * /metrics (Prometheus text). Plain HTTP without authentication: bind it to loopback or to an
 * operators' network. Rejects if the port is taken.
 */
export async function startAdmin({ host, port, ready, metrics }: AdminOptions): Promise<AdminServer> {
  const server = createHttpServer(BOUNDS, (request, response) => answer(request, response, ready, metrics));
  const { url } = await listen(server, { host, port });
  return { url, stop: () => closeServer(server, 0) };
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  ready: ReadyChecks,
  metrics: AdminOptions['metrics'],
): void {
  if (!hasValidHost(request)) return write(response, 400, 'text/plain', 'the request needs one Host header\n');
  if (request.method !== 'GET' && request.method !== 'HEAD') return write(response, 405, 'text/plain', 'only GET\n');
  switch (request.url?.split('?', 1)[0]) {
    case '/healthz':
      return write(response, 200, 'text/plain', 'ok\n');
    case '/readyz': {
      const report = ready.report();
      return write(response, report.ready ? 200 : 503, 'application/json', `${JSON.stringify(report)}\n`);
    }
    case '/metrics':
      return metrics(request, response);
    default:
      return write(response, 404, 'text/plain', 'not found\n');
  }
}

function write(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' }).end(body);
}
