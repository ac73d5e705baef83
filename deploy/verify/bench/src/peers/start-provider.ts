import { fileURLToPath } from 'node:url';
import { freePort } from '@gateway/servers';
import { startProcess } from '../machine/process.js';
import type { BenchProcess } from '../machine/process.js';

export interface Provider extends BenchProcess {
  readonly port: number;
  /** Without `/v1`. */
  readonly url: string;
}

/**
 * Between the events of a stream, in milliseconds: without it several chunks travel in one packet.
 */
export const CHUNK_DELAY_MS = 1;

/**
 * The provider simulator in a process of its own, not recording: every row of the table is measured
 * against this one.
 */
export async function startProvider(logs: string): Promise<Provider> {
  const port = await freePort();
  const simulator = startProcess({
    name: 'the provider simulator',
    command: process.execPath,
    args: [fileURLToPath(new URL('main.js', import.meta.resolve('@gateway/provider-simulator')))],
    env: {
      GATEWAY_SIMULATOR_PORTS: `${port},0`,
      GATEWAY_SIMULATOR_RECORD: 'off',
      GATEWAY_SIMULATOR_CHUNK_DELAY_MS: String(CHUNK_DELAY_MS),
    },
    logFile: `${logs}/provider.log`,
    deathSignal: 'KILL',
  });
  return { ...simulator, port, url: `http://127.0.0.1:${port}` };
}
