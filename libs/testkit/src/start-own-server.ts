import {
  startServers,
  withoutLentServers,
  type RunningServer,
  type ServerName,
  type ServersOptions,
} from '@gateway/servers';
import { temporaryDirectory } from './temporary-directory.js';

/** A server and the directory that it leaves. */
export interface OwnServer {
  readonly server: RunningServer;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
}

/** One server that belongs to the test alone, whatever the environment names. */
export async function startOwnServer(
  name: ServerName,
  options: Pick<ServersOptions, 'nats' | 'postgres'> = {},
): Promise<OwnServer> {
  const directory = temporaryDirectory(name);
  try {
    const started = await startServers([name], {
      stateDirectory: directory.path,
      env: withoutLentServers(),
      durable: false,
      ...options,
    });
    const server = started[name];
    return {
      server,
      async stop() {
        await server.stop();
        directory.remove();
      },
    };
  } catch (error) {
    directory.remove();
    throw error;
  }
}
