import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** PostgreSQL programs that are at least as new as a server. */
export interface PostgresTools {
  readonly pgDump: string;
  readonly pgRestore: string;
  /** The version that pg_dump prints. */
  readonly version: string;
}

/** Package directories with the programs of each major version. */
const VERSIONED_PLACES = ['/usr/lib/postgresql', '/usr/pgsql'];
const VERSION_TIMEOUT_MS = 5_000;

/**
 * Finds pg_dump and pg_restore next to `GATEWAY_POSTGRES_BINARY`, else in packages, else on PATH.
 * Returns the first that is not older than the server, as pg_dump requires; null if there is none.
 */
export function findPostgresTools(serverMajor: number, env: NodeJS.ProcessEnv): PostgresTools | null {
  for (const directory of directories(env)) {
    const [pgDump, pgRestore] = [join(directory, 'pg_dump'), join(directory, 'pg_restore')];
    if (!existsSync(pgDump) || !existsSync(pgRestore)) continue;
    const printed = spawnSync(pgDump, ['--version'], { encoding: 'utf8', timeout: VERSION_TIMEOUT_MS });
    const [, version, major] = /\(PostgreSQL\) ((\d+)\S*)/.exec(printed.stdout ?? '') ?? [];
    if (version !== undefined && Number(major) >= serverMajor) return { pgDump, pgRestore, version };
  }
  return null;
}

function directories(env: NodeJS.ProcessEnv): string[] {
  const named = env['GATEWAY_POSTGRES_BINARY'];
  const packaged = VERSIONED_PLACES.flatMap((place) =>
    (existsSync(place) ? readdirSync(place) : [])
      .sort((one, other) => Number(other) - Number(one))
      .map((version) => join(place, version, 'bin')),
  );
  const onPath = (env['PATH'] ?? '').split(delimiter).filter((directory) => directory.startsWith('/'));
  return [...(named === undefined ? [] : [dirname(named)]), ...packaged, ...onPath];
}
