import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { Server as NetServer, type AddressInfo } from 'node:net';

/** Times in milliseconds. */
export interface HttpBounds {
  readonly keepAliveMs: number;
  /** From the beginning of a connection or request to the end of its head. */
  readonly headMsMax: number;
  /** A whole request with its body. */
  readonly requestMsMax: number;
  /** Request line and headers together. */
  readonly headBytesMax: number;
  /** node drops headers above it silently, some at a time. */
  readonly headersMax: number;
  readonly connectionsMax: number;
}

/**
 * How often node looks for requests that are overdue, and the part of their time that it may be
 * late by.
 */
const OVERDUE_CHECK_MS_MAX = 5_000;
const OVERDUE_CHECK_PART = 4;

/**
 * A server of node:http with every bound stated, which answers nothing but broken requests by
 * itself.
 */
export function createHttpServer(bounds: HttpBounds, serve?: RequestListener): Server {
  const server = createServer({
    keepAliveTimeout: bounds.keepAliveMs,
    headersTimeout: bounds.headMsMax,
    requestTimeout: bounds.requestMsMax,
    connectionsCheckingInterval: Math.min(OVERDUE_CHECK_MS_MAX, Math.ceil(bounds.headMsMax / OVERDUE_CHECK_PART)),
    maxHeaderSize: bounds.headBytesMax,
    insecureHTTPParser: false,
    joinDuplicateHeaders: false,
    // Node would answer a missing Host itself, in a form of its own: see hasValidHost.
    requireHostHeader: false,
    noDelay: true,
    keepAlive: true,
  });
  if (serve !== undefined) server.on('request', serve);
  server.maxHeadersCount = bounds.headersMax;
  server.maxConnections = bounds.connectionsMax;
  // Node would answer the request above it itself.
  server.maxRequestsPerSocket = 0;
  server.timeout = 0;
  return server;
}

/** Whether a request has one Host header, as HTTP/1.1 requires, or at most one in HTTP/1.0. */
export function hasValidHost({ httpVersion, rawHeaders }: IncomingMessage): boolean {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}

/**
 * Connections that wait to be accepted: a burst of thousands is opened at once, and one above it
 * is tried again by its client after a second, three and seven. The kernel may have a lower bound.
 */
const LISTEN_BACKLOG = 4_096;

export interface ListenOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
}

/**
 * Resolves when the server takes connections; rejects when the port is taken. `url` is for this
 * machine, without a slash at the end.
 */
export async function listen(server: Server, options: ListenOptions): Promise<{ url: string; port: number }> {
  server.listen({ ...options, backlog: LISTEN_BACKLOG });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const host = ['0.0.0.0', '::'].includes(options.host) ? '127.0.0.1' : options.host;
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`, port };
}

/**
 * Takes no new connections; resolves when every one is closed. Destroys those that are left after
 * `timeoutMs`. Closing those that are idle is its owner's.
 */
export async function closeServer(server: Server, timeoutMs: number): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), timeoutMs);
  const closed = once(server, 'close');
  // Not node:http's own close: it takes a connection for idle that has bytes of an ended answer to
  // send, and destroys it.
  NetServer.prototype.close.call(server);
  await closed;
  clearTimeout(timer);
}
