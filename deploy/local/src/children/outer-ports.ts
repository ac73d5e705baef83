import { freePort } from '@gateway/servers';
import type { SystemOptions } from '../system-options.js';

/** Ports reserved for the first replicas. Later replicas use free ports. */
export interface OuterPorts {
  readonly edge: number[];
  readonly operator: number[];
  readonly dashboard: number[];
}

export async function makeOuterPorts({ port, operatorPort, dashboardPort }: SystemOptions): Promise<OuterPorts> {
  const first = async (preferred: number | undefined): Promise<number[]> => [preferred || (await freePort())];
  return { edge: await first(port), operator: await first(operatorPort), dashboard: await first(dashboardPort) };
}

/** Returns the reserved port if it is unused, else a free one. */
export async function takePort(ports: number[]): Promise<number> {
  return ports.shift() ?? freePort();
}
