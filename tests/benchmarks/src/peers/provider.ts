import { fileURLToPath } from 'node:url';
import { freePort } from '@gateway/servers';
import { type Program, startProgram } from '../machine/programs.js';

export interface Provider extends Program {
  readonly port: number;
  /** Without `/v1`. */
  readonly url: string;
}

/** Starts the provider simulator in a separate process without recording. All peers use it. */
export async function startProvider(logs: string): Promise<Provider> {
  const port = await freePort();
  const simulator = startProgram({
    name: 'the provider simulator',
    command: process.execPath,
    args: [fileURLToPath(new URL('main.js', import.meta.resolve('@gateway/provider-simulator')))],
    env: {
      GATEWAY_SIMULATOR_PORTS: `${port},0`,
      GATEWAY_SIMULATOR_RECORD: 'off',
      // Milliseconds between the events of a stream. Without them, several chunks share a packet.
      GATEWAY_SIMULATOR_CHUNK_DELAY_MS: '1',
    },
    logFile: `${logs}/provider.log`,
  });
  return { ...simulator, port, url: `http://127.0.0.1:${port}` };
}
