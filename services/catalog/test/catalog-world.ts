import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectBus, natsAuthorization, type Bus } from '@gateway/bus';
import { MESSAGES, SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import { createDatabaseFromTemplate, createPool, migrate, onPool, type Pool, type Tx } from '@gateway/postgres';
import { startServers, type RunningServer } from '@gateway/servers';
import { ReadyChecks, readConfig, systemClock, type RunningService } from '@gateway/service-kit';
import { CONFIG_FIELDS } from '../src/config.js';
import type { PublisherTimes } from '../src/publish/publisher.js';
import { startCatalog } from '../src/wire.js';

const DEADLINE_MS = 15_000;
const STEP_MS = 10;
const DRAIN_MS = 5_000;
const ROLE = { name: 'gateway_catalog', password: 'a role for tests' };
const PASSWORDS = Object.fromEntries(SERVICE_NAMES.map((name) => [name, `for-${name}`])) as Record<ServiceName, string>;
/** Looks at the head often, so that a test does not wait for it; verifies never, so that a test sees what the look does. */
const TIMES: PublisherTimes = { checkMs: 50, verifyMs: 3_600_000 };

export interface LogLine {
  readonly level: string;
  readonly facts: object;
  readonly text: string;
}

/** One replica of the service in this process. */
export interface Replica {
  readonly ready: ReadyChecks;
  readonly log: readonly LogLine[];
  stop(): Promise<void>;
}

export interface CatalogWorld {
  readonly postgres: RunningServer;
  readonly nats: RunningServer;
  /** The database as its administrator. */
  readonly pool: Pool;
  readonly sql: Tx;
  readonly credentialsKey: string;
  /** The same database as the service's own role. */
  readonly roleUrl: string;
  connect(service: ServiceName): Promise<Bus>;
  start(options?: { env?: Record<string, string>; times?: Partial<PublisherTimes> }): Promise<Replica>;
  stop(): Promise<void>;
}

/** PostgreSQL with the migrated schema and NATS with the users of all services. */
export async function startCatalogWorld(): Promise<CatalogWorld> {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'gateway-catalog-'));
  const { postgres, nats } = await startServers(['postgres', 'nats'], {
    stateDirectory,
    // Servers of its own: they are stopped and emptied.
    env: { ...process.env, GATEWAY_NATS_URL: '', GATEWAY_POSTGRES_URL: '' },
    durable: false,
    postgres: { superuserPassword: 'a superuser for tests' },
    nats: {
      config: natsAuthorization(PASSWORDS, MESSAGES),
      credentials: { user: 'dashboard', password: PASSWORDS.dashboard },
    },
  });
  const adminUrl = await createDatabaseFromTemplate(postgres.url, 'catalog_test', 'template1');
  await migrate({
    migrationUrl: adminUrl,
    schema: 'catalog',
    directory: new URL('../migrations', import.meta.url),
    role: ROLE,
    log: quiet,
  });
  await withSearchPath(adminUrl);
  const pool = createPool(adminUrl, { applicationName: 'test', log: quiet });
  const credentialsKey = randomBytes(32).toString('hex');
  const buses: Bus[] = [];
  const replicas = new Set<Replica>();

  const world: CatalogWorld = {
    postgres,
    nats,
    pool,
    sql: onPool(pool),
    credentialsKey,
    roleUrl: asRole(adminUrl),
    async connect(service) {
      const bus = await connectBus({ url: natsUrl(nats, service), service, replica: `t${buses.length}`, log: quiet });
      buses.push(bus);
      return bus;
    },
    async start({ env = {}, times = {} } = {}) {
      const config = readConfig(
        { ...CONFIG_FIELDS },
        {
          GATEWAY_NATS_URL: natsUrl(nats, 'catalog'),
          GATEWAY_POSTGRES_URL: world.roleUrl,
          GATEWAY_CREDENTIALS_KEY: credentialsKey,
          ...env,
        },
      );
      const log: LogLine[] = [];
      const ready = new ReadyChecks();
      const context = {
        config: config as Parameters<typeof startCatalog>[0]['config'],
        log: recording(log),
        clock: systemClock,
        replica: `r${randomBytes(4).toString('hex')}`,
        ready,
        stopping: new AbortController().signal,
      };
      const service: RunningService = await startCatalog(context, { ...TIMES, ...times });
      const replica: Replica = {
        ready,
        log,
        async stop() {
          if (replicas.delete(replica)) await service.stop();
        },
      };
      replicas.add(replica);
      return replica;
    },
    async stop() {
      await Promise.all([...replicas].map((replica) => replica.stop()));
      await Promise.all(buses.map((bus) => bus.drain(DRAIN_MS)));
      await pool.end();
      await Promise.all([nats.stop(), postgres.stop()]);
      await rm(stateDirectory, { recursive: true, force: true });
    },
  };
  return world;
}

/** Polls until the condition holds; fails with its description after 15 s. */
export async function eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const until = performance.now() + DEADLINE_MS;
  while (!(await holds())) {
    if (performance.now() > until) throw new Error(`did not become true: ${what}`);
    await delay(STEP_MS);
  }
}

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

function recording(lines: LogLine[]) {
  const at = (level: string) => (facts: object, text: string) => void lines.push({ level, facts, text });
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log };
  return log;
}

function natsUrl(nats: RunningServer, service: ServiceName): string {
  return `nats://${service}:${PASSWORDS[service]}@${new URL(nats.url).host}`;
}

/** For the administrator's later connections: tests name tables as the service does. */
async function withSearchPath(adminUrl: string): Promise<void> {
  const once = createPool(adminUrl, { applicationName: 'test', log: quiet, max: 1 });
  await once.query('ALTER ROLE CURRENT_USER IN DATABASE catalog_test SET search_path = catalog');
  await once.end();
}

function asRole(url: string): string {
  const own = new URL(url);
  own.username = ROLE.name;
  own.password = encodeURIComponent(ROLE.password);
  return own.href;
}
