import { createDatabaseFromTemplate, createPool, databaseUrl, migrate, type Pool } from '@gateway/postgres';
import type { RunningServer } from '@gateway/servers';
import { silentLog } from './logs.js';
import { startTestServer } from './start-test-server.js';

const SUPERUSER_PASSWORD = 'a superuser for tests';
const ROLE_PASSWORD = 'a role for tests';
const TEMPLATE = 'migrated';

export interface TestDatabaseOptions {
  /** The service whose schema and role it is. */
  readonly service: string;
  readonly migrations: URL;
  /**
   * Names of placeholders for roles that only read, such as `finance`; each is the role
   * `gateway_<name>`.
   */
  readonly readers?: readonly string[];
}

/** One database with the migrated schema of one service. */
export interface TestDatabase {
  /** Connects as the superuser, with the service's schema in the search path. */
  readonly admin: Pool;
  /** Connects as the service's role. */
  readonly pool: Pool;
  /** The URL with the service's role, as its environment would carry it. */
  readonly url: string;
  /** Connects as the role of a reader. */
  poolOf(reader: string): Pool;
}

export interface TestDatabaseServer {
  readonly postgres: RunningServer;
  /** Copies the migrated template in a few dozen milliseconds. */
  database(): Promise<TestDatabase>;
  stop(): Promise<void>;
}

/** Starts a PostgreSQL server whose databases are copies of one migrated template. */
export async function startTestDatabase(options: TestDatabaseOptions): Promise<TestDatabaseServer> {
  const { server: postgres, stop } = await startTestServer('postgres', {
    postgres: { superuserPassword: SUPERUSER_PASSWORD },
  });
  const role = roleOf(options.service);
  const readers = Object.fromEntries((options.readers ?? []).map((name) => [name, roleOf(name)]));
  await createDatabaseFromTemplate(postgres.url, TEMPLATE, 'template1');
  await migrate({
    migrationUrl: databaseUrl(postgres.url, TEMPLATE),
    schema: options.service,
    directory: options.migrations,
    role,
    readers,
    log: silentLog,
  });
  const pools: Pool[] = [];
  let databases = 0;
  return {
    postgres,
    async database() {
      databases += 1;
      const name = `${options.service}_${databases}`;
      const adminUrl = await createDatabaseFromTemplate(postgres.url, name, TEMPLATE);
      await setSearchPath(adminUrl, name, role.name, options.service);
      const url = asRole(adminUrl, role);
      const poolOn = (ownUrl: string): Pool => {
        const pool = createPool(ownUrl, { applicationName: 'test', log: silentLog });
        pools.push(pool);
        return pool;
      };
      const poolOf = (reader: string): Pool => poolOn(asRole(adminUrl, roleOf(reader)));
      return { admin: poolOn(adminUrl), pool: poolOn(url), url, poolOf };
    },
    async stop() {
      await Promise.all(pools.map((pool) => pool.end()));
      await stop();
    },
  };
}

/** Settings of a role in a database are not copied with the database. */
async function setSearchPath(adminUrl: string, database: string, role: string, schema: string): Promise<void> {
  const once = createPool(adminUrl, { applicationName: 'test', log: silentLog, max: 1 });
  await once.query(`ALTER ROLE ${role} IN DATABASE ${database} SET search_path = ${schema}`);
  await once.query(`ALTER ROLE CURRENT_USER IN DATABASE ${database} SET search_path = ${schema}`);
  await once.end();
}

function roleOf(name: string): { readonly name: string; readonly password: string } {
  return { name: `gateway_${name}`, password: ROLE_PASSWORD };
}

function asRole(url: string, role: { readonly name: string; readonly password: string }): string {
  const own = new URL(url);
  own.username = role.name;
  own.password = encodeURIComponent(role.password);
  return own.href;
}
