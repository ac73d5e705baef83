import {
  startServers,
  withoutLentServers,
  type RunningServer,
  type ServerName,
  type ServersOptions,
} from '@gateway/servers';
import { temporaryDirectory } from './temporary-directory.js';

/** A server of this suite, or a place on one that suites share. */
export interface TestServer {
  readonly server: RunningServer;
  /** From 0; no other suite has it on this server at the same time. */
  readonly place: number;
  /** Stops the server and removes its files, or returns the place. */
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
      place: 0,
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
