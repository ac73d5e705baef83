import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectBus, natsAuthorization, type Bus } from '@gateway/bus';
import { billingFunding, MESSAGES, SERVICE_NAMES } from '@gateway/contracts/messages';
import type { AnswerBodyOf, ServiceName } from '@gateway/contracts/messages';
import { createDatabaseFromTemplate, createPool, migrate, onPool, type Pool, type Tx } from '@gateway/postgres';
import { startServers, type RunningServer } from '@gateway/servers';
import { ReadyChecks, readConfig, systemClock, type RunningService } from '@gateway/service-kit';
import { CONFIG_FIELDS } from '../src/config.js';
import { startAccounts } from '../src/wire.js';

const DEADLINE_MS = 15_000;
const STEP_MS = 10;
const DRAIN_MS = 5_000;
const DATABASE = 'accounts_test';
const ROLE = { name: 'gateway_accounts', password: 'a role for tests' };
const PASSWORDS = Object.fromEntries(SERVICE_NAMES.map((name) => [name, `for-${name}`])) as Record<ServiceName, string>;

export type Funding = AnswerBodyOf<typeof billingFunding>;
export const FUNDED: Funding = {
  walletNanoUsd: 1,
  planActive: false,
  activeKeysMax: 3,
  defaultKeyCapNanoUsd: null,
};

export interface AccountsWorld {
  readonly postgres: RunningServer;
  /** The database as its administrator. */
  readonly pool: Pool;
  readonly sql: Tx;
  /** The same database as the service's own role. */
  readonly roleUrl: string;
  /** What billing answers from now on; it is asked over the bus. */
  fund(funding: Funding | Error): void;
  connect(service: ServiceName): Promise<Bus>;
  start(env?: Record<string, string>): Promise<RunningService>;
  stop(): Promise<void>;
}

/** PostgreSQL with the migrated schema, NATS with the users of all services, and somebody who answers for billing. */
export async function startAccountsWorld(): Promise<AccountsWorld> {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'gateway-accounts-'));
  const { postgres, nats } = await startServers(['postgres', 'nats'], {
    stateDirectory,
    // Servers of its own: PostgreSQL is stopped in a test.
    env: { ...process.env, GATEWAY_NATS_URL: '', GATEWAY_POSTGRES_URL: '' },
    durable: false,
    postgres: { superuserPassword: 'a superuser for tests' },
    nats: {
      config: natsAuthorization(PASSWORDS, MESSAGES),
      credentials: { user: 'dashboard', password: PASSWORDS.dashboard },
    },
  });
  const adminUrl = await createDatabaseFromTemplate(postgres.url, DATABASE, 'template1');
  await migrate({
    migrationUrl: adminUrl,
    schema: 'accounts',
    directory: new URL('../migrations', import.meta.url),
    role: ROLE,
    log: quiet,
  });
  await withSearchPath(adminUrl);
  const pool = createPool(adminUrl, { applicationName: 'test', log: quiet });
  const buses: Bus[] = [];
  const services: RunningService[] = [];
  let funding: Funding | Error = FUNDED;

  const connect = async (service: ServiceName): Promise<Bus> => {
    const bus = await connectBus({ url: natsUrl(nats, service), service, replica: `t${buses.length}`, log: quiet });
    buses.push(bus);
    return bus;
  };
  (await connect('billing')).serve(billingFunding, () =>
    funding instanceof Error ? Promise.reject(funding) : Promise.resolve(funding),
  );
  return {
    postgres,
    pool,
    sql: onPool(pool),
    roleUrl: asRole(adminUrl),
    fund(next) {
      funding = next;
    },
    connect,
    async start(env = {}) {
      const own = { GATEWAY_NATS_URL: natsUrl(nats, 'accounts'), GATEWAY_POSTGRES_URL: asRole(adminUrl) };
      const service = await startAccounts({
        config: readConfig({ ...CONFIG_FIELDS }, { ...own, ...env }) as Parameters<typeof startAccounts>[0]['config'],
        log: quiet,
        clock: systemClock,
        replica: `r${randomBytes(4).toString('hex')}`,
        ready: new ReadyChecks(),
        stopping: new AbortController().signal,
      });
      services.push(service);
      return service;
    },
    async stop() {
      await Promise.all(services.map((service) => service.stop()));
      await Promise.all(buses.map((bus) => bus.drain(DRAIN_MS)));
      await pool.end();
      await Promise.all([nats.stop(), postgres.stop()]);
      await rm(stateDirectory, { recursive: true, force: true });
    },
  };
}

/** Polls until the condition holds; fails with its description after 15 s. */
export async function eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const until = performance.now() + DEADLINE_MS;
  while (!(await holds())) {
    if (performance.now() > until) throw new Error(`did not become true: ${what}`);
    await delay(STEP_MS);
  }
}

const quiet = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => quiet,
};

function natsUrl(nats: RunningServer, service: ServiceName): string {
  return `nats://${service}:${PASSWORDS[service]}@${new URL(nats.url).host}`;
}

/** For the administrator's later connections: tests name tables as the service does. */
async function withSearchPath(adminUrl: string): Promise<void> {
  const once = createPool(adminUrl, { applicationName: 'test', log: quiet, max: 1 });
  await once.query(`ALTER ROLE CURRENT_USER IN DATABASE ${DATABASE} SET search_path = accounts`);
  await once.end();
}

function asRole(url: string): string {
  const own = new URL(url);
  own.username = ROLE.name;
  own.password = encodeURIComponent(ROLE.password);
  return own.href;
}
