import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HttpServer {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** Longer than the gateway keeps idle connections in a test. */
const KEEP_ALIVE_MS = 120_000;

/** Serves HTTP on a free port of this machine. */
export async function startHttpServer(listener: RequestListener): Promise<HttpServer> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
