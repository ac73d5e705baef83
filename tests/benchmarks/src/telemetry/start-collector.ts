import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A collector that accepts everything and only counts the bytes. */
export interface SilentCollector {
  readonly url: string;
  /** Bytes of spans received so far. */
  bytes(): number;
  stop(): Promise<void>;
}

export async function startCollector(): Promise<SilentCollector> {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bytes: () => bytes,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
