import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ReadyChecks } from './ready-checks.js';

export interface AdminOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly ready: ReadyChecks;
  readonly metrics: (request: IncomingMessage, response: ServerResponse) => void;
}

export interface AdminServer {
  /** Without a slash at the end. */
  readonly url: string;
  stop(): Promise<void>;
}

const REQUEST_MS = 5_000;
const HEADERS_BYTES_MAX = 8_192;
const CONNECTIONS_MAX = 64;

/**
 * The admin address: /healthz (this process answers), /readyz (every named check holds), /metrics (Prometheus text).
 * Plain HTTP without authentication: it belongs on loopback or a network of operators. Rejects when the port is taken.
 */
export async function startAdmin({ host, port, ready, metrics }: AdminOptions): Promise<AdminServer> {
  const server = createServer(
    {
      requestTimeout: REQUEST_MS,
      headersTimeout: REQUEST_MS,
      keepAliveTimeout: REQUEST_MS,
      connectionsCheckingInterval: REQUEST_MS,
      maxHeaderSize: HEADERS_BYTES_MAX,
    },
    (request, response) => answer(request, response, ready, metrics),
  );
  server.maxConnections = CONNECTIONS_MAX;
  await listen(server, host, port);
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  ready: ReadyChecks,
  metrics: AdminOptions['metrics'],
): void {
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

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
