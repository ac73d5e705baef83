import { changeUrl, retry } from '@gateway/service-kit';
import pg from 'pg';
import { readSqlState } from './faults.js';
import { identifier } from './identifier.js';

const CONNECT_MS = 5_000;
const STATEMENT_MS = 60_000;
/** Two seconds in total. */
const RETRY = { attemptsMax: 40, baseMs: 50, maxMs: 50, random: () => 1 };
const OBJECT_IN_USE = '55006';

/**
 * Creates the database `name` as a copy of `template` and returns its URL, otherwise equal to
 * `adminUrl`. Waits up to two seconds for connections to the template to end. For tests: copying a
 * migrated template takes a tenth of a second.
 */
export async function createDatabaseFromTemplate(adminUrl: string, name: string, template: string): Promise<string> {
  const text = `CREATE DATABASE ${identifier(name, 'the name of a database')} TEMPLATE ${identifier(template, 'the name of a template')}`;
  await withServer(adminUrl, async (client) => {
    await retry(() => client.query(text), { ...RETRY, mayPass: (error) => readSqlState(error) === OBJECT_IN_USE });
  });
  return databaseUrl(adminUrl, name);
}

/** Drops the database if it exists and closes its connections. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  const database = identifier(name, 'the name of a database');
  await withServer(adminUrl, (client) => client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`));
}

/** Returns the URL of another database on the same server with the same user. */
export function databaseUrl(url: string, name: string): string {
  return changeUrl(url, (other) => (other.pathname = `/${name}`));
}

/** Opens one session at exactly this server, a primary or a standby. For administrators. */
export async function withServer<T>(url: string, work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
