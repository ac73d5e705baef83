import { resolveServer, type Candidate } from './resolve-server.js';
import { ServerUnavailable } from './server-kind.js';
import { SERVER_NAMES, type ServerName, type ServersOptions } from './server.js';
import { SERVER_KINDS } from './start-servers.js';

export interface Inspection {
  name: ServerName;
  /** Null if no resolver provides the server. */
  resolver: Candidate['resolver'] | null;
  version: string;
  source: string;
  /** The reasons and remedies if no resolver provides the server. */
  problem?: string;
}

/** Reports which resolver `startServers` would use for each server, without starting it. */
export function inspectServers(
  options: Pick<ServersOptions, 'cacheDirectory' | 'env'> = {},
): Promise<readonly Inspection[]> {
  // No password is used, because nothing is started.
  const dry = { ...options, isDry: true, stateDirectory: '', postgres: { superuserPassword: 'unused' } };
  const inspections = SERVER_NAMES.map((name) =>
    resolveServer(SERVER_KINDS[name], dry, ({ resolver, version, source }) =>
      Promise.resolve<Inspection>({ name, resolver, version, source }),
    ).catch((error: unknown): Inspection => {
      if (!(error instanceof ServerUnavailable)) throw error;
      return { name, resolver: null, version: '-', source: '-', problem: error.message };
    }),
  );
  return Promise.all(inspections);
}
