import pg from 'pg';
import { findPostgresTools } from './find-postgres-tools.js';
import type { PostgresTools } from './find-postgres-tools.js';

export interface AdministratorSession {
  readonly client: pg.Client;
  readonly major: number;
  readonly tools: PostgresTools;
}

const CONNECT_MS = 10_000;
const VERSION_UNIT = 10_000;

/**
 * Opens an administrator's session and finds PostgreSQL's client programs.
 * @throws Error if none of the server's version or newer is found
 */
export async function connectDatabase(migrationUrl: string): Promise<AdministratorSession> {
  const client = new pg.Client({
    connectionString: migrationUrl,
    application_name: 'backup',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  });
  // The next statement reports a lost connection.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ server_version_num: string }>('SHOW server_version_num');
    const major = Math.floor(Number(rows[0]?.server_version_num) / VERSION_UNIT);
    const tools = findPostgresTools(major, process.env);
    if (tools === null) {
      throw new Error(
        `pg_dump of version ${major} or newer was not found: install the client programs of PostgreSQL (Debian: postgresql-client), or set GATEWAY_POSTGRES_BINARY to a server program in the same directory`,
      );
    }
    return { client, major, tools };
  } catch (error) {
    await client.end();
    throw error;
  }
}
