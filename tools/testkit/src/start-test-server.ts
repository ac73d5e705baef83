import {
  startServers,
  withoutLentServers,
  type RunningServer,
  type ServerName,
  type ServersOptions,
} from '@gateway/servers';
import { temporaryDirectory } from './temporary-directory.js';

/** A server of this suite alone, or a place on a shared server. */
export interface TestServer {
  readonly server: RunningServer;
  /** Number from 0. No other suite has this place on the server at the same time. */
  readonly place: number;
  /** Stops the server and removes its files, or returns the place. */
  stop(): Promise<void>;
}

/** Starts a server for the caller alone and ignores server URLs in the environment. */
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
