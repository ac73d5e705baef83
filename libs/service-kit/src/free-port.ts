import { createServer } from 'node:net';

/**
 * Below the ports of outgoing connections (Linux: from 32768), so that no client takes a returned
 * port before its server listens or while it restarts.
 */
const FIRST_PORT = 20_000;
const PORTS = 12_700;
/** Each process starts at another port, so that two processes rarely collide. */
const STRIDE = 97;

let next = (process.pid * STRIDE) % PORTS;

/**
 * Returns a TCP port that was free on 127.0.0.1 a moment ago. The caller must handle the case that
 * another process takes it.
 */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < PORTS; tried += 1) {
    const port = FIRST_PORT + next;
    next = (next + 1) % PORTS;
    if (await isPortFree(port)) return port;
  }
  throw new Error(`no port from ${FIRST_PORT} to ${FIRST_PORT + PORTS - 1} is free on 127.0.0.1`);
}

/** Reports whether a server could listen on `port` of 127.0.0.1 now. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
