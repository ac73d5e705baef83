import { freePort, isPortFree } from '@gateway/service-kit/free-port';

/** The usual ports of the first edge, operator API and dashboard, of servers and simulator. */
export const USUAL_PORTS = {
  edge: 8_080,
  dashboard: 8_081,
  operator: 8_082,
  postgres: 15_432,
  nats: 14_222,
  redis: 16_379,
  smtp: 11_025,
  mailbox: 11_080,
  'simulator-a': 18_181,
  'simulator-b': 18_182,
} as const;
export type PortName = keyof typeof USUAL_PORTS;

/** Options that set a port. */
export const PORT_OPTIONS = { edge: 'port', dashboard: 'dashboard-port', operator: 'operator-port' } as const;
type GivenPorts = Partial<Record<PortName, number>>;

/**
 * Returns the given ports (0: any), and for the others the usual or free ones. The demo's sources
 * follow a simulator whose ports change.
 * @throws Error if a given port is taken
 */
export async function choosePorts(given: GivenPorts, log: (line: string) => void): Promise<Record<PortName, number>> {
  const ports: Record<PortName, number> = { ...USUAL_PORTS, ...given };
  const options: Partial<Record<PortName, string>> = PORT_OPTIONS;
  for (const name of Object.keys(ports) as PortName[]) {
    const [wanted, option] = [ports[name], options[name]];
    if (wanted !== 0 && (await isPortFree(wanted))) continue;
    if (wanted !== 0 && given[name] !== undefined)
      throw new Error(
        `port ${wanted} (--${option}) is taken: stop the program that uses it, or choose another port (0: any)`,
      );
    ports[name] = await freePort();
    if (wanted !== 0 && option !== undefined)
      log(`port ${wanted} is taken: using ${ports[name]} (set another one with --${option})`);
  }
  return ports;
}
