import { mkdirSync } from 'node:fs';
import { startServers } from '@gateway/servers';
import type { RunningServer, ServerName } from '@gateway/servers';
import { natsAuthorization } from '@gateway/bus';
import { ADMISSION_USER, admissionUser } from '@gateway/setup';
import { startMailbox, startMailboxPage, type Mailbox, type MailboxPage } from '@gateway/mailbox';
import { MESSAGES } from '@gateway/contracts/messages';
import type { Child } from './children/child.js';
import { Crew } from './children/crew.js';
import type { Replacement } from './children/crew.js';
import { makeOuterPorts } from './children/outer-ports.js';
import { migrateAll, postgresUrlOf } from './migrate-all.js';
import { SERVICES } from './processes.js';
import type { Addresses, LocalService, ProcessName } from './processes.js';
import { removeRunningFile, writeRunningFile } from './running-file.js';
import type { RunningFile } from './running-file.js';
import type { InnerPort } from './ports.js';
import { loadSecrets } from './secrets.js';
import type { Secrets } from './secrets.js';

export interface SystemOptions {
  readonly stateDirectory: string;
  /** Port of the first edge; 0: any. Further replicas take free ones. */
  readonly port: number;
  /** Port of the first operator API; absent or 0: any. Further replicas take free ones. */
  readonly operatorPort?: number;
  /** Port of the first dashboard; absent or 0: any. Further replicas take free ones. */
  readonly dashboardPort?: number;
  readonly replicas: Readonly<Record<LocalService, number>>;
  /** Ports of the servers and of the simulator's listeners; absent or 0: any. */
  readonly ports?: Partial<Record<InnerPort, number>>;
  /** Added to the environment of every service; read when the servers are up. */
  readonly env?: Readonly<Record<string, string>>;
  /** Gives the addresses of the servers that the services are told instead of their own: a proxy's, for tests. */
  readonly through?: (own: Addresses) => Promise<Addresses>;
  /** False for tests: a crash of the machine may lose data. */
  readonly durable: boolean;
  /** A line for the reader: what was done, with its seconds. */
  readonly log: (line: string) => void;
  /** Gives the start up: it rejects as soon as what it has started is ended. Later it has no effect. */
  readonly signal?: AbortSignal;
}

export interface LocalSystem {
  readonly secrets: Secrets;
  readonly servers: Readonly<Record<ServerName, RunningServer>>;
  readonly addresses: Addresses;
  /** Where the mails of the system go. */
  readonly mailbox: Mailbox;
  /** Where people read them. */
  readonly mailboxUrl: string;
  /** The children of a name in replica order. */
  children(name: ProcessName): readonly Child[];
  /**
   * Starts a process of a service beside the one at `index`, on ports of its own, and puts it in its place when it is ready:
   * from then on `children` and `running` name the new one. The old one goes on until it is retired.
   */
  replace(name: LocalService, index: number): Promise<Replacement>;
  running(): RunningFile;
  /** Writes `running.json` with the key that a client may use at once. */
  announce(demoApiKey: string | null): void;
  /** Edges first (they finish their calls), then what they need, the servers last. A second call ends everything at once. */
  stop(): Promise<void>;
}

const STOP_GRACE_MS = 15_000;

/** Starts servers, migrates, starts all services and the simulator, and waits until each is ready. */
export async function startSystem(options: SystemOptions): Promise<LocalSystem> {
  mkdirSync(`${options.stateDirectory}/logs`, { recursive: true, mode: 0o700 });
  const secrets = loadSecrets(options.stateDirectory);
  const system: { fail?: (text: string) => void } = {};
  const servers = await timed(options, 'servers', () =>
    startOwnServers(options, secrets, (text) => system.fail?.(text)),
  );
  let mailbox: Mailbox | null = null;
  let mailboxPage: MailboxPage | null = null;
  try {
    mailbox = await startMailbox({
      directory: `${options.stateDirectory}/mailbox`,
      port: options.ports?.smtp ?? 0,
    });
    mailboxPage = await startMailboxPage(mailbox, options.ports?.mailbox ?? 0);
    return await startServices(options, secrets, { servers, mailbox, mailboxPage }, system);
  } catch (error) {
    await stopFoundations({ servers, mailbox, mailboxPage });
    throw error;
  }
}

/** What all services stand on; it lives in, or beside, this very process. */
interface Foundations {
  readonly servers: Record<ServerName, RunningServer>;
  readonly mailbox: Mailbox;
  readonly mailboxPage: MailboxPage;
}

async function stopFoundations({
  servers,
  mailbox,
  mailboxPage,
}: Pick<Foundations, 'servers'> & {
  readonly [Part in 'mailbox' | 'mailboxPage']: Foundations[Part] | null;
}): Promise<void> {
  const stops = Object.values(servers).map((server) => server.stop());
  await Promise.all([...stops, mailbox?.stop(), mailboxPage?.stop()]);
}

async function startOwnServers(
  options: SystemOptions,
  secrets: Secrets,
  onExit: (text: string) => void,
): Promise<Record<ServerName, RunningServer>> {
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
      persist: true,
    },
    // Why a rung was passed over is for the doctor, and for the error when there is none left.
    log: (line) => {
      if (!line.includes(' skipped: ')) options.log(`  ${line}`);
    },
    onExit: (name, code) => onExit(`${name} ended unasked (${code ?? 'signal'})`),
  });
}

async function startServices(
  options: SystemOptions,
  secrets: Secrets,
  { servers, mailbox, mailboxPage }: Foundations,
  system: { fail?: (text: string) => void },
): Promise<LocalSystem> {
  const ports = await makeOuterPorts(options);
  const own = addressesOf(
    servers,
    secrets,
    { edge: ports.edge[0] ?? 0, dashboard: ports.dashboard[0] ?? 0 },
    mailbox.url,
  );
  const addresses = (await options.through?.(own)) ?? own;
  await timed(options, 'migrations', () => migrateAll(servers.postgres.url, secrets, options.log));

  let demoApiKey: string | null = secrets.demoApiKey;
  let announced = false;
  let stopping: Promise<void> | null = null;
  const onChange = (text: string) => {
    options.log(text);
    if (announced && !stopping) writeRunningFile(options.stateDirectory, running());
  };
  system.fail = onChange;
  const crew = await Crew.make({ options, addresses, secrets, ports, onChange });

  function running(): RunningFile {
    const all = crew.all();
    const { edgeUrls, operatorUrls } = crew;
    const edgeUrl = edgeUrls[0] ?? addresses.publicUrl;
    const pidsOf = (list: readonly Child[]) => list.flatMap((child) => child.pid ?? []);
    return {
      edgeUrl,
      edgeUrls,
      chatBaseUrl: `${edgeUrl}/v1`,
      messagesBaseUrl: edgeUrl,
      dashboardUrl: addresses.dashboardUrl,
      operatorUrl: `${operatorUrls[0] ?? ''}/operator/v1`,
      operatorToken: secrets.operatorToken,
      demoApiKey,
      providerUrls: crew.providerUrls,
      natsUrl: servers.nats.url,
      redisUrl: servers.redis.url,
      postgresUrl: servers.postgres.url,
      adminUrls: Object.fromEntries(all.map(([name, list]) => [name, list.map((child) => child.adminUrl)])),
      pids: {
        starter: [process.pid],
        ...Object.fromEntries(
          Object.values(servers).map((server) => [server.name, server.pid === null ? [] : [server.pid]]),
        ),
        ...Object.fromEntries(all.map(([name, list]) => [name, pidsOf(list)])),
      },
    };
  }

  async function stopAll(): Promise<void> {
    removeRunningFile(options.stateDirectory);
    for (const name of STOP_ORDER) {
      await Promise.all(crew.withRetiring(name).map((child) => child.stop(STOP_GRACE_MS)));
    }
    await stopFoundations({ servers, mailbox, mailboxPage });
  }

  async function killAll(): Promise<void> {
    await Promise.all(STOP_ORDER.flatMap((name) => crew.withRetiring(name)).map((child) => child.stop(0, 'SIGKILL')));
    await stopFoundations({ servers, mailbox, mailboxPage });
    removeRunningFile(options.stateDirectory);
  }

  try {
    const starts = () => Promise.all(crew.all().flatMap(([, list]) => list.map((child) => child.start())));
    await timed(options, 'services', () => Promise.race([starts(), givenUp(options.signal)]));
  } catch (error) {
    await killAll();
    throw error;
  }
  return {
    secrets,
    servers,
    addresses,
    mailbox,
    mailboxUrl: mailboxPage.url,
    children: (name) => crew.of(name),
    async replace(name, index) {
      const replacement = await crew.replace(name, index);
      if (announced && !stopping) writeRunningFile(options.stateDirectory, running());
      return replacement;
    },
    running,
    announce(key) {
      demoApiKey = key;
      announced = true;
      writeRunningFile(options.stateDirectory, running());
    },
    stop() {
      if (stopping) return killAll();
      stopping = stopAll();
      return stopping;
    },
  };
}

const STOP_ORDER: readonly ProcessName[] = [...SERVICES.slice(0, 1), 'provider-simulator', ...SERVICES.slice(1)];

function addressesOf(
  servers: Record<ServerName, RunningServer>,
  secrets: Secrets,
  ports: { readonly edge: number; readonly dashboard: number },
  smtpUrl: string,
): Addresses {
  const publicUrl = `http://127.0.0.1:${ports.edge}`;
  return {
    natsUrlOf: (service) => {
      // A server given by URL has its own users: its URL is used as it is.
      if (servers.nats.rung === 'url') return servers.nats.url;
      const url = new URL(servers.nats.url);
      url.username = service;
      url.password = secrets.busPasswords[service as keyof Secrets['busPasswords']];
      return url.href;
    },
    postgresUrlOf: (service) => postgresUrlOf(servers.postgres.url, service, secrets),
    redisUrl: redisUrlOf(servers.redis, secrets),
    publicUrl,
    dashboardUrl: `http://127.0.0.1:${ports.dashboard}`,
    smtpUrl,
  };
}

/** With admission's own user; a server given by URL has its own users. */
function redisUrlOf(redis: RunningServer, secrets: Secrets): string {
  if (redis.rung === 'url') return redis.url;
  const url = new URL(redis.url);
  url.username = ADMISSION_USER;
  url.password = secrets.admissionRedisPassword;
  return url.href;
}

/** Rejects when the signal comes. */
function givenUp(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    const giveUp = () => reject(new Error('the start was given up'));
    if (signal?.aborted) giveUp();
    signal?.addEventListener('abort', giveUp, { once: true });
  });
}

async function timed<T>(options: SystemOptions, what: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  options.log(`${what} ready in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return result;
}
