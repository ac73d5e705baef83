import { createServer, type Server } from 'node:http';
import type { HttpLimits } from './http-limits.js';

/** How often node looks for requests that are overdue, and the part of their time that it may be late by. */
const OVERDUE_CHECK_MS_MAX = 5_000;
const OVERDUE_CHECK_PART = 4;
/** node drops headers above its maximum silently, some at a time: with this room the edge always sees that there are more. */
const HEADERS_ROOM = 64;

/** A server of node:http with every limit stated; what it refuses itself never gets an answer without ids. */
export function makeServer(limits: HttpLimits): Server {
  const server = createServer({
    keepAliveTimeout: limits.keepAliveMs,
    headersTimeout: limits.headMsMax,
    requestTimeout: limits.requestMsMax,
    connectionsCheckingInterval: Math.min(OVERDUE_CHECK_MS_MAX, Math.ceil(limits.headMsMax / OVERDUE_CHECK_PART)),
    maxHeaderSize: limits.headBytesMax,
    insecureHTTPParser: false,
    joinDuplicateHeaders: false,
    // Node would answer a missing Host itself, without the ids; nothing here depends on it.
    requireHostHeader: false,
    noDelay: true,
    keepAlive: true,
  });
  server.maxHeadersCount = limits.headersMax + HEADERS_ROOM;
  server.maxConnections = limits.connectionsMax;
  // Node would answer the request above it itself, without the ids.
  server.maxRequestsPerSocket = 0;
  server.timeout = 0;
  return server;
}

/** Resolves when every connection is closed; destroys those that are left after `timeoutMs`. */
export async function closeServer(server: Server, timeoutMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), timeoutMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
