import { createHash } from 'node:crypto';
import {
  createDatabaseFromTemplate,
  createPool,
  dropDatabase,
  migrate,
  withServer,
  type Pool,
} from '@gateway/postgres';
import type { RunningServer } from '@gateway/servers';
import { changeUrl } from '@gateway/service-kit';
import { borrowServer, SHARED_POSTGRES } from './borrow-server.js';
import { patientClock } from './clocks.js';
import { silentLog } from './logs.js';
import { startTestServer } from './start-test-server.js';
import type { OwnServer } from './test-redis.js';

const ROLE_PASSWORD = 'a role for tests';
const DIGEST_LENGTH = 12;

export interface TestDatabaseOptions extends OwnServer {
  /** The service that owns the schema and the role. */
  readonly service: string;
  readonly migrations: URL;
  /**
   * Names of read-only roles in the migrations, such as `finance`. Each means the role
   * `gateway_<name>`.
   */
  readonly readers?: readonly string[];
}

/** A database with the migrated schema of one service. */
export interface TestDatabase {
  /** Connects as the superuser, with the service's schema in the search path. */
  readonly admin: Pool;
  /** Connects as the service's role. */
  readonly pool: Pool;
  /** The URL with the service's role, for its environment. */
  readonly url: string;
  /** Connects as the role of a reader. */
  poolOf(reader: string): Pool;
}

export interface TestDatabaseServer {
  readonly postgres: RunningServer;
  /** Copies the migrated template, which takes about 40 ms. */
  database(): Promise<TestDatabase>;
  /** Ends all connections and drops the databases. */
  stop(): Promise<void>;
}

/** Starts a PostgreSQL server whose databases are copies of one migrated template. */
export async function startTestDatabase(options: TestDatabaseOptions): Promise<TestDatabaseServer> {
  const { own = false } = options;
  const start = own ? startTestServer('postgres', SHARED_POSTGRES.options) : borrowServer(SHARED_POSTGRES);
  const { server: postgres, place, stop } = await start;
  const role = roleOf(options.service);
  const template = await ensureTemplate(postgres.url, options);
  const pools: Pool[] = [];
  const names: string[] = [];
  return {
    postgres,
    async database() {
      const name = `${options.service}_${place}_${names.length}`;
      names.push(name);
      const adminUrl = await createDatabaseFromTemplate(postgres.url, name, template);
      await setSearchPath(adminUrl, name, role.name, options.service);
      const url = asRole(adminUrl, role);
      const poolOn = (ownUrl: string): Pool => {
        pools.push(createPool(ownUrl, { applicationName: 'test', log: silentLog, clock: patientClock }));
        return pools.at(-1) as Pool;
      };
      const poolOf = (reader: string): Pool => poolOn(asRole(adminUrl, roleOf(reader)));
      return { admin: poolOn(adminUrl), pool: poolOn(url), url, poolOf };
    },
    async stop() {
      await Promise.all(pools.map((pool) => pool.end()));
      if (!own) for (const name of names) await dropDatabase(postgres.url, name);
      await stop();
    },
  };
}

/**
 * Creates the template for these migrations unless another suite has created it, and returns its
 * name. The database gets this name only after its migrations. If a suite is killed during the
 * migrations, the next suite drops its draft.
 */
async function ensureTemplate(adminUrl: string, { service, migrations, readers = [] }: TestDatabaseOptions) {
  const digest = createHash('sha256').update(`${migrations.href} ${readers.join()}`).digest('hex');
  const template = `${service}_template_${digest.slice(0, DIGEST_LENGTH)}`;
  const draft = `${template}_draft`;
  await withServer(adminUrl, async (client) => {
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [template]);
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [template]);
    if (rowCount !== 0) return;
    await dropDatabase(adminUrl, draft);
    await migrate({
      migrationUrl: await createDatabaseFromTemplate(adminUrl, draft, 'template1'),
      schema: service,
      directory: migrations,
      role: roleOf(service),
      readers: Object.fromEntries(readers.map((name) => [name, roleOf(name)])),
      log: silentLog,
    });
    await client.query(`ALTER DATABASE ${draft} RENAME TO ${template}`);
  });
  return template;
}

/** Sets the search path, because copies of a database do not include the settings of its roles. */
async function setSearchPath(adminUrl: string, database: string, role: string, schema: string): Promise<void> {
  await withServer(adminUrl, async (client) => {
    for (const user of [role, 'CURRENT_USER'])
      await client.query(`ALTER ROLE ${user} IN DATABASE ${database} SET search_path = ${schema}`);
  });
}

function roleOf(name: string): { readonly name: string; readonly password: string } {
  return { name: `gateway_${name}`, password: ROLE_PASSWORD };
}

function asRole(url: string, role: { readonly name: string; readonly password: string }): string {
  return changeUrl(url, (own) => Object.assign(own, { username: role.name, password: role.password }));
}
