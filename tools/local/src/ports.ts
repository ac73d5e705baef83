import { freePort, isPortFree } from '@gateway/service-kit/free-port';

/** The ports of the servers and the simulator. If one is taken, a free port replaces it. */
export const INNER_PORTS = {
  postgres: 15_432,
  nats: 14_222,
  redis: 16_379,
  smtp: 11_025,
  mailbox: 11_080,
  'simulator-a': 18_181,
  'simulator-b': 18_182,
} as const;
export type InnerPort = keyof typeof INNER_PORTS;

export const EDGE_PORT = 8_080;
export const DASHBOARD_PORT = 8_081;
export const OPERATOR_PORT = 8_082;

export interface ChosenPorts {
  readonly port: number;
  readonly dashboardPort: number;
  readonly operatorPort: number;
  readonly ports: Record<InnerPort, number>;
}

/**
 * Chooses the ports of this start. Edge, dashboard and operator API get the given ports (0: any).
 * The others, and those that are not given, get their usual or free ones. The demo's sources follow
 * a simulator whose ports change.
 * @throws Error if a given port is taken
 */
export async function choosePorts(
  given: Readonly<Record<'port' | 'dashboardPort' | 'operatorPort', number | undefined>>,
  log: (line: string) => void,
): Promise<ChosenPorts> {
  const port = await outerPort('--port', given.port, EDGE_PORT, log);
  const dashboardPort = await outerPort('--dashboard-port', given.dashboardPort, DASHBOARD_PORT, log);
  const operatorPort = await outerPort('--operator-port', given.operatorPort, OPERATOR_PORT, log);
  const ports: Record<InnerPort, number> = { ...INNER_PORTS };
  for (const name of Object.keys(INNER_PORTS) as InnerPort[])
    if (!(await isPortFree(INNER_PORTS[name]))) ports[name] = await freePort();
  return { port, dashboardPort, operatorPort, ports };
}

async function outerPort(
  option: string,
  given: number | undefined,
  preferred: number,
  log: (line: string) => void,
): Promise<number> {
  if (given === 0) return freePort();
  if (await isPortFree(given ?? preferred)) return given ?? preferred;
  if (given !== undefined)
    throw new Error(
      `port ${given} (${option}) is taken: stop the program that uses it, or choose another port (0: any)`,
    );
  const other = await freePort();
  log(`port ${preferred} is taken: using ${other} (set another one with ${option})`);
  return other;
}
