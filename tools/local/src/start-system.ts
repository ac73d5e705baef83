import { mkdirSync } from 'node:fs';
import { natsAuthorization } from '@gateway/bus';
import { MESSAGES } from '@gateway/contracts/messages';
import { type Mailbox, startMailbox, startMailboxPage } from '@gateway/mailbox';
import { freePort, startServers } from '@gateway/servers';
import { admissionUser, LEDGER_SERVICES, migrateServices, MigrationHistoryError } from '@gateway/setup';
import { type Addresses, createAddresses, roleOf } from './addresses.js';
import type { Child } from './children/child.js';
import { Restarter } from './children/restarter.js';
import { type Replacement, Supervisor } from './children/supervisor.js';
import { startCluster } from './ha/start-cluster.js';
import type { LocalService, ProcessName } from './processes.js';
import { type RunningFile, RunningJson, runningContent } from './running-file.js';
import { type Secrets, loadSecrets } from './secrets.js';
import type { Servers, SystemOptions } from './system-options.js';

/** A system whose processes are ready. */
export interface LocalSystem extends Omit<Servers, 'urls'> {
  readonly stateDirectory: string;
  readonly secrets: Secrets;
  readonly addresses: Addresses;
  /** Receives all emails of the system. */
  readonly mailbox: Mailbox;
  /** Address of the page that shows the emails. */
  readonly mailboxUrl: string;
  /** The children of a name in replica order. */
  children(name: ProcessName): readonly Child[];
  /**
   * Starts a second process of a service with its own ports. When it is ready, it takes the place
   * at `index` in `children` and `running`. The old process runs until it is retired.
   */
  replace(name: LocalService, index: number): Promise<Replacement>;
  running(): RunningFile;
  /** Writes `running.json` with a key that a client may use at once. */
  announce(demoApiKey: string | null): void;
  /**
   * Stops the edges first (they finish their calls), then the processes that they depend on, and
   * the servers last. A second call kills everything at once.
   */
  stop(): Promise<void>;
}

/** Starts servers, migrates, starts services and simulator, and waits until all are ready. */
export async function startSystem(options: SystemOptions): Promise<LocalSystem> {
  const { stateDirectory, log, ports = {} } = options;
  mkdirSync(`${stateDirectory}/logs`, { recursive: true, mode: 0o700 });
  const secrets = loadSecrets(stateDirectory);
  const file = new RunningJson(stateDirectory);
  const onChange = (text: string): void => {
    log(text);
    file.rewrite();
  };
  const restarter = new Restarter(onChange);
  /** Servers and mailbox, which all services need. */
  const foundations: { stop(): Promise<unknown> }[] = [];
  const stopFoundations = async (): Promise<void> => {
    restarter.stop();
    await Promise.all(foundations.map((one) => one.stop()));
  };
  try {
    const start = options.ha === true ? startCluster : startOwnServers;
    const { servers, members, urls } = await logDuration(log, 'servers', () => start(options, secrets, restarter));
    foundations.push(...Object.values(members));
    restarter.watch(members);
    // Only now: the file of a running system stays if this start is refused.
    file.remove();
    const mailbox = await startMailbox({ directory: `${stateDirectory}/mailbox`, port: ports.smtp ?? 0 });
    foundations.push(mailbox);
    const mailboxPage = await startMailboxPage(mailbox, ports.mailbox ?? 0);
    foundations.push(mailboxPage);
    const firstPorts = {
      edge: ports.edge || (await freePort()),
      operator: ports.operator || (await freePort()),
      dashboard: ports.dashboard || (await freePort()),
    };
    const own = createAddresses(servers, urls, mailbox.url, secrets, firstPorts);
    const addresses = (await options.through?.(own)) ?? own;
    await logDuration(log, 'migrations', () => migrateAll(servers.postgres.url, secrets, log));
    const supervisor = await Supervisor.make({ options, addresses, secrets, firstPorts, restarter });
    await logDuration(log, 'services', () => supervisor.start(options.signal));
    let demoApiKey = secrets.demoApiKey;
    let isStopping = false;
    const running = (): RunningFile =>
      runningContent({ servers, members, addresses, secrets, supervisor, starterPid: process.pid, demoApiKey });
    return {
      stateDirectory,
      secrets,
      servers,
      members,
      addresses,
      mailbox,
      mailboxUrl: mailboxPage.url,
      children: (name) => supervisor.of(name),
      async replace(name, index) {
        const replacement = await supervisor.replace(name, index);
        file.rewrite();
        return replacement;
      },
      running,
      announce(key) {
        demoApiKey = key;
        file.announce(running);
      },
      async stop() {
        const end = isStopping ? supervisor.kill() : supervisor.stop();
        isStopping = true;
        file.remove();
        await end;
        await stopFoundations();
      },
    };
  } catch (error) {
    await stopFoundations();
    throw error;
  }
}

async function startOwnServers(options: SystemOptions, secrets: Secrets, restarter: Restarter): Promise<Servers> {
  // With long timeouts for tests, NATS keeps slow processes connected. A repeated setting replaces
  // the one before.
  const isPatient = Number(options.env?.['GATEWAY_TIMEOUT_MIN_MS'] ?? 0) > 0;
  const servers = await startServers(['postgres', 'nats', 'redis'], {
    stateDirectory: `${options.stateDirectory}/servers`,
    durable: options.durable,
    ports: options.ports ?? {},
    postgres: { superuserPassword: secrets.postgresPassword },
    nats: {
      config: (isPatient ? 'ping_interval: "60s"\n' : '') + natsAuthorization(secrets.busPasswords, MESSAGES),
      credentials: { user: 'dashboard', password: secrets.busPasswords.dashboard },
    },
    redis: { password: secrets.redisPassword, users: [admissionUser(secrets.admissionRedisPassword)] },
    // Skipped resolvers are in the error if all were skipped.
    log: (line) => {
      if (!line.includes(' skipped: ')) options.log(`  ${line}`);
    },
    onExit: (name, how) => restarter.ended(name, how),
  });
  const { postgres, nats, redis } = servers;
  return { servers, members: servers, urls: { postgres: postgres.url, nats: nats.url, redis: redis.url } };
}

/**
 * Brings every schema up to date, each with its service's role. Services never migrate.
 * @throws Error that suggests `npm run reset` if another version of this program created the
 * database
 */
async function migrateAll(migrationUrl: string, secrets: Secrets, log: (line: string) => void): Promise<void> {
  const report = (_fields: object, text: string): void => log(`  ${text}`);
  const role = (service: keyof Secrets['rolePasswords']) => ({
    name: roleOf(service),
    password: secrets.rolePasswords[service],
  });
  const applied = await migrateServices({
    migrationUrl,
    roles: { billing: role('billing'), accounts: role('accounts'), catalog: role('catalog') },
    finance: { name: roleOf('finance'), password: secrets.financePassword },
    log: { info: () => undefined, warn: report, error: report },
  }).catch((error: unknown) => {
    if (!(error instanceof MigrationHistoryError)) throw error;
    throw new Error(
      `${error.message}. Another version created this state: start that version, or delete the state (npm run reset).`,
    );
  });
  for (const service of LEDGER_SERVICES) {
    const { length } = applied[service];
    if (length > 0) log(`  ${service}: ${length} migration${length === 1 ? '' : 's'} applied`);
  }
}

/** Runs the work and logs its duration. */
export async function logDuration<T>(log: (line: string) => void, what: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  log(`${what} ready in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return result;
}
