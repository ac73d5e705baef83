import { startServers, type RunningServer, type ServerName, type ServersOptions } from '@gateway/servers';
import { temporaryDirectory } from './temporary-directory.js';

/** URLs by which an environment could lend a server: a test's own is stopped, killed and emptied. */
const NO_LENT_SERVERS = {
  GATEWAY_MIGRATION_URL: '',
  GATEWAY_NATS_URL: '',
  GATEWAY_POSTGRES_URL: '',
  GATEWAY_REDIS_URL: '',
};

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
      env: { ...process.env, ...NO_LENT_SERVERS },
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
