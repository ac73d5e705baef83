import {
  startServers,
  withoutLentServers,
  type RunningServer,
  type ServerName,
  type ServersOptions,
} from '@gateway/servers';
import { temporaryDirectory } from './temporary-directory.js';

/** A server with a directory for its files. */
export interface TestServer {
  readonly server: RunningServer;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
}

/** Starts a server that belongs to the caller alone, whatever the environment names. */
export async function startTestServer(
  name: ServerName,
  options: Pick<ServersOptions, 'nats' | 'postgres' | 'redis'> = {},
): Promise<TestServer> {
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
