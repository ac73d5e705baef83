import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { Server as NetServer, type AddressInfo } from 'node:net';

/** Times in milliseconds. */
export interface HttpBounds {
  readonly keepAliveMs: number;
  /** From the start of a connection or request to the end of its head. */
  readonly headMsMax: number;
  /** A whole request with its body. */
  readonly requestMsMax: number;
  /** Request line and headers together. */
  readonly headBytesMax: number;
  /** Node silently drops headers above this number. */
  readonly headersMax: number;
  readonly connectionsMax: number;
}

/**
 * Longest interval between Node's checks for overdue requests, and the interval as a share of their
 * timeout.
 */
const OVERDUE_CHECK_MS_MAX = 5_000;
const OVERDUE_CHECK_PART = 4;

/** Creates a node:http server with every bound set. It rejects malformed requests itself. */
export function createHttpServer(bounds: HttpBounds, serve?: RequestListener): Server {
  const server = createServer({
    keepAliveTimeout: bounds.keepAliveMs,
    headersTimeout: bounds.headMsMax,
    requestTimeout: bounds.requestMsMax,
    connectionsCheckingInterval: Math.min(OVERDUE_CHECK_MS_MAX, Math.ceil(bounds.headMsMax / OVERDUE_CHECK_PART)),
    maxHeaderSize: bounds.headBytesMax,
    insecureHTTPParser: false,
    joinDuplicateHeaders: false,
    // Node would respond to a missing Host header in its own format: see hasValidHost.
    requireHostHeader: false,
    noDelay: true,
    keepAlive: true,
  });
  if (serve !== undefined) server.on('request', serve);
  server.maxHeadersCount = bounds.headersMax;
  server.maxConnections = bounds.connectionsMax;
  // Node would itself respond to the first request above the limit.
  server.maxRequestsPerSocket = 0;
  server.timeout = 0;
  return server;
}

/** Reports whether a request has one Host header, or at most one in HTTP/1.0. */
export function hasValidHost({ httpVersion, rawHeaders }: IncomingMessage): boolean {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

/**
 * Connections that wait to be accepted. Bursts of thousands arrive at once; a client retries a
 * refused connection after one, three and seven seconds. The kernel may have a lower bound.
 */
const LISTEN_BACKLOG = 4_096;

export interface ListenOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
}

/**
 * Resolves when the server accepts connections; rejects if the port is taken. `url` is for this
 * machine, without a trailing slash.
 */
export async function listen(server: Server, options: ListenOptions): Promise<{ url: string; port: number }> {
  server.listen({ ...options, backlog: LISTEN_BACKLOG });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const host = ['0.0.0.0', '::'].includes(options.host) ? '127.0.0.1' : options.host;
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`, port };
}

/**
 * Accepts no new connections and resolves when all are closed. Destroys the remaining ones after
 * `timeoutMs`. The owner closes idle connections.
 */
export async function closeServer(server: Server, timeoutMs: number): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), timeoutMs);
  const closed = once(server, 'close');
  // Avoids the close() of node:http, which treats a connection with unsent bytes of an ended
  // response as idle and destroys it.
  NetServer.prototype.close.call(server);
  await closed;
  clearTimeout(timer);
}
