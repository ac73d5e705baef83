import { runCommand } from './run-command.js';
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

/** Reports the npm that runs this program, else the one on PATH. */
export async function inspectNpm(env: NodeJS.ProcessEnv): Promise<Pick<Inspection, 'version' | 'problem'>> {
  const running = /^npm\/(\S+)/.exec(env['npm_config_user_agent'] ?? '')?.[1];
  if (running !== undefined) return { version: running };
  const { ok, stdout } = await runCommand('npm', ['--version'], { env: { PATH: env['PATH'] ?? '' } });
  if (ok) return { version: stdout.trim() };
  return {
    version: 'not found',
    problem: 'npm was not found on PATH. Install Node from https://nodejs.org, which contains it.',
  };
}
