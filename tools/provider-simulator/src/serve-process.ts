import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import type { ProviderSimulator, ProviderSimulatorOptions } from './start-provider-simulator.js';

/** Options of the simulator, and the admin address. */
export interface SimulatorConfig extends Required<Omit<ProviderSimulatorOptions, 'requireKey'>> {
  adminHost: string;
  /** Undefined: no admin address. */
  adminPort: number | undefined;
}

const LOOPBACK = '127.0.0.1';

/**
 * Reads the environment. Defaults: free ports, recording, no admin address.
 * @throws Error with the variable's name for an invalid value
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): SimulatorConfig {
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
    ports: [ports[0] ?? 0, ports[1] ?? 0],
    recordCalls: read('GATEWAY_SIMULATOR_RECORD', 'on', /^(?:on|off)$/) === 'on',
    chunkDelayMs: Number(read('GATEWAY_SIMULATOR_CHUNK_DELAY_MS', '0', /^\d{1,7}$/)),
    adminPort: hasAdmin ? Number(read('GATEWAY_ADMIN_PORT', '', /^\d{1,5}$/)) : undefined,
  };
}

/**
 * Serves health and counts on a second address. The listeners open before it, so healthy and ready
 * are the same.
 */
export async function serveAdmin(simulator: ProviderSimulator, host: string, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    const { a, b } = simulator.counters().calls;
    const pages: Readonly<Record<string, string>> = {
      '/healthz': 'ok\n',
      '/readyz': 'ok\n',
      '/metrics': `# HELP provider_simulator_calls_total Model calls received.
# TYPE provider_simulator_calls_total counter
provider_simulator_calls_total{listener="a"} ${a}
provider_simulator_calls_total{listener="b"} ${b}
`,
    };
    const page = pages[request.url ?? '/'];
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(page ?? 'not found\n');
  });
  await once(server.listen({ host, port }), 'listening');
  return server;
}
