import { natsAuthorization } from '@gateway/bus';
import { MESSAGES } from '@gateway/contracts/messages';
import { startMailbox, startMailboxPage, type Mailbox, type MailboxPage } from '@gateway/mailbox';
import { startServers, type RunningServer, type ServerName } from '@gateway/servers';
import { admissionUser } from '@gateway/setup';
import { ServerRestarter } from './children/restart-servers.js';
import type { Secrets } from './secrets.js';
import type { SystemOptions } from './system-options.js';
import { timed } from './timed.js';

/** Servers and mailbox, which all services need. */
export interface Foundations {
  readonly servers: Record<ServerName, RunningServer>;
  readonly restarter: ServerRestarter;
  readonly mailbox: Mailbox;
  readonly mailboxPage: MailboxPage;
}

/**
 * Starts all of them, or leaves nothing.
 * @param onChange gets a line when a server ends that nobody has stopped, and when it is ready
 * again
 */
export async function startFoundations(
  options: SystemOptions,
  secrets: Secrets,
  onChange: (text: string) => void,
): Promise<Foundations> {
  const restarter = new ServerRestarter(onChange);
  const servers = await timed(options, 'servers', () => startOwnServers(options, secrets, restarter));
  restarter.watch(servers);
  let mailbox: Mailbox | null = null;
  try {
    mailbox = await startMailbox({
      directory: `${options.stateDirectory}/mailbox`,
      port: options.ports?.smtp ?? 0,
    });
    return { servers, restarter, mailbox, mailboxPage: await startMailboxPage(mailbox, options.ports?.mailbox ?? 0) };
  } catch (error) {
    restarter.stop();
    await Promise.all([stopServers(servers), mailbox?.stop()]);
    throw error;
  }
}

export async function stopFoundations({ servers, restarter, mailbox, mailboxPage }: Foundations): Promise<void> {
  restarter.stop();
  await Promise.all([stopServers(servers), mailbox.stop(), mailboxPage.stop()]);
}

async function stopServers(servers: Foundations['servers']): Promise<void> {
  await Promise.all(Object.values(servers).map((server) => server.stop()));
}

async function startOwnServers(
  options: SystemOptions,
  secrets: Secrets,
  restarter: ServerRestarter,
): Promise<Foundations['servers']> {
  return startServers(['postgres', 'nats', 'redis'], {
    stateDirectory: `${options.stateDirectory}/servers`,
    durable: options.durable,
    ports: options.ports ?? {},
    postgres: { superuserPassword: secrets.postgresPassword },
    nats: {
      config: natsAuthorization(secrets.busPasswords, MESSAGES),
      credentials: { user: 'dashboard', password: secrets.busPasswords.dashboard },
    },
    redis: {
      password: secrets.redisPassword,
      users: [admissionUser(secrets.admissionRedisPassword)],
    },
    // The doctor says why a resolver gave nothing, and so does the error when all of them did.
    log: (line) => {
      if (!line.includes(' skipped: ')) options.log(`  ${line}`);
    },
    onExit: (name, code) => restarter.ended(name, code),
  });
}
