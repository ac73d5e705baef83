import { createServer } from 'node:net';

/**
 * Below the ports that systems give to outgoing connections (Linux: from 32768): one that is handed
 * out here is not taken by somebody's client before its server listens, or while that server
 * restarts.
 */
const FIRST_PORT = 20_000;
const PORTS = 12_700;
/** Each process begins elsewhere and goes on from there, so that two of them rarely meet. */
const STRIDE = 97;

let next = (process.pid * STRIDE) % PORTS;

/**
 * A TCP port that was free on 127.0.0.1 a moment ago; the caller must cope with losing it to
 * another process.
 */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < PORTS; tried += 1) {
    const port = FIRST_PORT + next;
    next = (next + 1) % PORTS;
    if (await isPortFree(port)) return port;
  }
  throw new Error(`no port from ${FIRST_PORT} to ${FIRST_PORT + PORTS - 1} is free on 127.0.0.1`);
}

/** Whether a server could listen on `port` of 127.0.0.1 now. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
