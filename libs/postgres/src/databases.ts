import { changeUrl, retry } from '@gateway/service-kit';
import pg from 'pg';
import { sqlStateOf } from './faults.js';
import { identifier } from './identifier.js';

const CONNECT_MS = 5_000;
const STATEMENT_MS = 60_000;
/** Two seconds in all. */
const RETRY = { attemptsMax: 40, baseMs: 50, maxMs: 50, random: () => 1 };
const OBJECT_IN_USE = '55006';

/**
 * Makes the database `name` as a copy of `template` and gives its URL (that of `adminUrl`
 * otherwise). Waits up to two seconds for connections to the template to end. For tests: a migrated
 * template is copied in a tenth of a second.
 */
export async function createDatabaseFromTemplate(adminUrl: string, name: string, template: string): Promise<string> {
  const text = `CREATE DATABASE ${identifier(name, 'the name of a database')} TEMPLATE ${identifier(template, 'the name of a template')}`;
  await withServer(adminUrl, async (client) => {
    await retry(() => client.query(text), { ...RETRY, mayPass: (error) => sqlStateOf(error) === OBJECT_IN_USE });
  });
  return databaseUrl(adminUrl, name);
}

/** Drops the database if it exists, ending the connections to it. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  const database = identifier(name, 'the name of a database');
  await withServer(adminUrl, (client) => client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`));
}

/** The same server and user, another database. */
export function databaseUrl(url: string, name: string): string {
  return changeUrl(url, (other) => (other.pathname = `/${name}`));
}

/** One session at exactly this server, whether it is a primary or a standby; for administrators. */
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
