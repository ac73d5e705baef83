import { once } from 'node:events';
import { type Server, createServer } from 'node:http';

const LOOPBACK = '127.0.0.1';

/**
 * Reads the options of the simulator, and the admin address: none without a port. Ports are free
 * ones by default.
 * @throws Error with the variable's name for an invalid value
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>) {
  const read = (variable: string, usual: string, valid: RegExp): string => {
    const text = environment[variable] ?? usual;
    if (!valid.test(text)) throw new Error(`${variable}: "${text}" is invalid`);
    return text;
  };
  const ports = read('GATEWAY_SIMULATOR_PORTS', '0,0', /^\d{1,5}, *\d{1,5}$/)
    .split(',')
    .map(Number);
  const hasAdmin = environment['GATEWAY_ADMIN_PORT'] !== undefined;
  return {
    host: environment['GATEWAY_SIMULATOR_HOST'] || LOOPBACK,
    adminHost: environment['GATEWAY_ADMIN_HOST'] || LOOPBACK,
    ports: [ports[0] ?? 0, ports[1] ?? 0] as [number, number],
    chunkDelayMs: Number(read('GATEWAY_SIMULATOR_CHUNK_DELAY_MS', '0', /^\d{1,7}$/)),
    adminPort: hasAdmin ? Number(read('GATEWAY_ADMIN_PORT', '', /^\d{1,5}$/)) : undefined,
  };
}

/** Serves health on a second address, when all listeners are open: healthy means ready. */
export async function serveHealth(host: string, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    response.writeHead(['/healthz', '/readyz'].includes(request.url ?? '') ? 200 : 404).end();
  });
  await once(server.listen({ host, port }), 'listening');
  return server;
}
