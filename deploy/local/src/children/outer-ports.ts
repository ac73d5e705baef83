import { freePort } from '@gateway/servers';
import type { SystemOptions } from '../system-options.js';

/** Ports that are set aside for the first replicas; who comes later takes free ones. */
export interface OuterPorts {
  readonly edge: number[];
  readonly operator: number[];
  readonly dashboard: number[];
}

/** Ports of the first edge and the first dashboard, as wished (0: any). */
export async function makeOuterPorts({ port, operatorPort, dashboardPort }: SystemOptions): Promise<OuterPorts> {
  const first = async (wished: number | undefined): Promise<number[]> => [wished || (await freePort())];
  return { edge: await first(port), operator: await first(operatorPort), dashboard: await first(dashboardPort) };
}

/** The one that is set aside, else a free one. */
export async function takePort(ports: number[]): Promise<number> {
  return ports.shift() ?? freePort();
}
