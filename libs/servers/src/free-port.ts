import { createServer } from 'node:net';

/** A TCP port that was free on 127.0.0.1 a moment ago; the caller must cope with losing it to another process. */
export async function freePort(): Promise<number> {
  return (await listenOnce(0)) ?? Promise.reject(new Error('no free port on 127.0.0.1'));
}

/** Whether a server could listen on `port` of 127.0.0.1 now. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== null;
}

function listenOnce(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : null));
    });
  });
}
