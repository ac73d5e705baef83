import { natsAuthorization } from '@gateway/bus';
import { MESSAGES } from '@gateway/contracts/messages';
import { type Mailbox, type MailboxPage, startMailbox, startMailboxPage } from '@gateway/mailbox';
import { type RunningServer, type ServerName, startServers } from '@gateway/servers';
import { admissionUser } from '@gateway/setup';
import { ServerRestarter } from './children/restart-servers.js';
import { startCluster } from './ha/start-cluster.js';
import type { Secrets } from './secrets.js';
import type { SystemOptions } from './system-options.js';

/** Servers and mailbox, which all services need. */
export interface Foundations {
  /** With standbys: the current primary of each kind. */
  readonly servers: Record<ServerName, RunningServer>;
  /** All servers by name. With standbys there are several of a kind. */
  readonly members: Readonly<Record<string, RunningServer>>;
  /** The URLs for services. With standbys they name all servers of a kind. */
  readonly urls: Readonly<Record<ServerName, string>>;
  readonly restarter: ServerRestarter;
  readonly mailbox: Mailbox;
  readonly mailboxPage: MailboxPage;
}

/**
 * Starts all of them; after a failure none remains.
 * @param onChange receives a line when a server ends unexpectedly and when it is ready again
 */
export async function startFoundations(
  options: SystemOptions,
  secrets: Secrets,
  onChange: (text: string) => void,
): Promise<Foundations> {
  const restarter = new ServerRestarter(onChange);
  const started = await logDuration(options, 'servers', () =>
    options.ha === true ? startCluster(options, secrets, restarter) : startOwnServers(options, secrets, restarter),
  );
  restarter.watch(started.members);
  let mailbox: Mailbox | null = null;
  try {
    mailbox = await startMailbox({
      directory: `${options.stateDirectory}/mailbox`,
      port: options.ports?.smtp ?? 0,
    });
    return {
      ...started,
      restarter,
      mailbox,
      mailboxPage: await startMailboxPage(mailbox, options.ports?.mailbox ?? 0),
    };
  } catch (error) {
    restarter.stop();
    await Promise.all([stopServers(started.members), mailbox?.stop()]);
    throw error;
  }
}

export async function stopFoundations({ members, restarter, mailbox, mailboxPage }: Foundations): Promise<void> {
  restarter.stop();
  await Promise.all([stopServers(members), mailbox.stop(), mailboxPage.stop()]);
}

async function stopServers(servers: Foundations['members']): Promise<void> {
  await Promise.all(Object.values(servers).map((server) => server.stop()));
}

async function startOwnServers(
  options: SystemOptions,
  secrets: Secrets,
  restarter: ServerRestarter,
): Promise<Pick<Foundations, 'servers' | 'members' | 'urls'>> {
  const servers = await startServers(['postgres', 'nats', 'redis'], {
    stateDirectory: `${options.stateDirectory}/servers`,
    durable: options.durable,
    ports: options.ports ?? {},
    postgres: { superuserPassword: secrets.postgresPassword },
    nats: {
      config: patientPings(options) + natsAuthorization(secrets.busPasswords, MESSAGES),
      credentials: { user: 'dashboard', password: secrets.busPasswords.dashboard },
    },
    redis: {
      password: secrets.redisPassword,
      users: [admissionUser(secrets.admissionRedisPassword)],
    },
    // Skipped resolvers are reported by `npm run doctor`, and by the error if all were skipped.
    log: (line) => {
      if (!line.includes(' skipped: ')) options.log(`  ${line}`);
    },
    onExit: (name, code) => restarter.ended(name, code),
  });
  const { postgres, nats, redis } = servers;
  return { servers, members: servers, urls: { postgres: postgres.url, nats: nats.url, redis: redis.url } };
}

/**
 * With long timeouts for tests, NATS keeps slow processes connected. A repeated setting replaces
 * the one before.
 */
function patientPings({ env }: SystemOptions): string {
  return Number(env?.['GATEWAY_TIMEOUT_MIN_MS'] ?? 0) > 0 ? 'ping_interval: "60s"\n' : '';
}

/** Runs the work and logs its duration. */
export async function logDuration<T>(
  { log }: Pick<SystemOptions, 'log'>,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  log(`${what} ready in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return result;
}
