import { fileURLToPath } from 'node:url';
import { freePort } from '@gateway/servers';
import { startProcess } from '../machine/process.js';
import type { BenchProcess } from '../machine/process.js';

export interface Provider extends BenchProcess {
  readonly port: number;
  /** Without `/v1`. */
  readonly url: string;
}

/** Delay between the events of a stream. Without it, several chunks share a packet. */
export const CHUNK_DELAY_MS = 1;

/** Starts the provider simulator in a separate process without recording. All peers use it. */
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
