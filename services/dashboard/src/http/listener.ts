import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** Requests that are being answered at once; each may hold a body in memory. */
export const REQUESTS_OPEN_MAX = 128;
const CONNECTIONS_MAX = 512;
const KEEP_ALIVE_MS = 75_000;
const HEADERS_MS_MAX = 10_000;
/** A whole request with its body. */
const REQUEST_MS_MAX = 30_000;
/** How often node looks for requests that are overdue. */
const OVERDUE_CHECK_MS = 5_000;
const HEADER_BYTES_MAX = 16 * 1024;
const HEADERS_MAX = 100;
const POLL_MS = 10;

export interface ListenerParts {
  readonly host: string;
  readonly port: number;
  serve(request: IncomingMessage, response: ServerResponse): void;
  /** Answers a request above REQUESTS_OPEN_MAX. */
  refuseBusy(request: IncomingMessage, response: ServerResponse): void;
  /** The bytes that answer what is no HTTP request; the connection is closed after them. */
  brokenAnswer(): string;
}

export interface Listener {
  readonly url: string;
  readonly port: number;
  requestsOpen(): number;
  /** No new connections, running requests end within `timeoutMs`, then everything is closed. */
  close(timeoutMs: number): Promise<void>;
}

/** A listener with every bound stated. Resolves when it takes connections. */
export async function openListener({ host, port, serve, refuseBusy, brokenAnswer }: ListenerParts): Promise<Listener> {
  let open = 0;
  let stopping = false;
  const server = createServer(
    {
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_MS_MAX,
      requestTimeout: REQUEST_MS_MAX,
      connectionsCheckingInterval: OVERDUE_CHECK_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
      insecureHTTPParser: false,
      joinDuplicateHeaders: false,
      requireHostHeader: false,
      noDelay: true,
    },
    (request, response) => {
      if (stopping) response.setHeader('connection', 'close');
      if (open >= REQUESTS_OPEN_MAX) {
        refuseBusy(request, response);
        return;
      }
      open += 1;
      response.once('close', () => {
        open -= 1;
      });
      serve(request, response);
    },
  );
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end(brokenAnswer());
    else socket.destroy();
  });
  server.maxHeadersCount = HEADERS_MAX;
  server.maxConnections = CONNECTIONS_MAX;
  server.timeout = 0;
  server.listen({ host, port });
  await once(server, 'listening');
  const { port: listening } = server.address() as AddressInfo;
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return {
    url: `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${listening}`,
    port: listening,
    requestsOpen: () => open,
    async close(timeoutMs) {
      stopping = true;
      await closeServer(server, () => open === 0, timeoutMs);
    },
  };
}

async function closeServer(server: Server, isIdle: () => boolean, timeoutMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const until = performance.now() + timeoutMs;
  while (!isIdle() && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  server.closeAllConnections();
  await closed;
}
