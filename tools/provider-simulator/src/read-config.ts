/** The process's settings. */
export interface SimulatorConfig {
  /** Address of both listeners. */
  host: string;
  /** Address of the admin port. */
  adminHost: string;
  ports: [number, number];
  recordCalls: boolean;
  /** Milliseconds between the events of a default stream. */
  chunkDelayMs: number;
  /** Undefined: no admin address. */
  adminPort: number | undefined;
}

const PORT_MAX = 65_535;
const LOOPBACK = '127.0.0.1';

/**
 * Reads the environment. Throws with the variable's name for an invalid value. Defaults: free
 * ports, recording, no admin address.
 */
export function readConfig(environment: Record<string, string | undefined>): SimulatorConfig {
  const ports = (environment['GATEWAY_SIMULATOR_PORTS'] ?? '0,0').split(',');
  const [portA, portB] = ports.map((port) => portOf('GATEWAY_SIMULATOR_PORTS', port));
  if (portA === undefined || portB === undefined || ports.length !== 2) {
    throw new Error('GATEWAY_SIMULATOR_PORTS must be two ports with a comma between them');
  }
  const record = environment['GATEWAY_SIMULATOR_RECORD'] ?? 'on';
  if (record !== 'on' && record !== 'off') throw new Error('GATEWAY_SIMULATOR_RECORD must be on or off');
  const delay = environment['GATEWAY_SIMULATOR_CHUNK_DELAY_MS'] ?? '0';
  if (!/^\d{1,7}$/.test(delay)) throw new Error('GATEWAY_SIMULATOR_CHUNK_DELAY_MS must be milliseconds');
  const adminPort = environment['GATEWAY_ADMIN_PORT'];
  return {
    host: environment['GATEWAY_SIMULATOR_HOST'] || LOOPBACK,
    adminHost: environment['GATEWAY_ADMIN_HOST'] || LOOPBACK,
    ports: [portA, portB],
    recordCalls: record === 'on',
    chunkDelayMs: Number(delay),
    adminPort: adminPort === undefined ? undefined : portOf('GATEWAY_ADMIN_PORT', adminPort),
  };
}

function portOf(variable: string, text: string): number {
  const port = /^\d{1,5}$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (!(port <= PORT_MAX)) throw new Error(`${variable}: "${text}" is not a port`);
  return port;
}
