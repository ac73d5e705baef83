import { mkdirSync } from 'node:fs';
import { freePort, startServers } from '@gateway/servers';
import type { RunningServer, ServerName } from '@gateway/servers';
import { natsAuthorization } from '@gateway/bus';
import { ADMISSION_USER, admissionUser } from '@gateway/setup';
import { startMailbox, startMailboxPage, type Mailbox, type MailboxPage } from '@gateway/mailbox';
import { MESSAGES } from '@gateway/contracts/messages';
import { Child } from './children/child.js';
import { migrateAll, postgresUrlOf } from './migrate-all.js';
import { SERVICES, environmentOf, programOf } from './processes.js';
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
  running(): RunningFile;
  /** Writes `running.json` with the key that a client may use at once. */
  announce(demoApiKey: string | null): void;
  /** Edges first (they finish their calls), then what they need, the servers last. A second call ends everything at once. */
  stop(): Promise<void>;
}

/** Longest time for the calls of an edge to end when the local system is stopped; after it they are cut. */
const DRAIN_MS = 10_000;
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
  const edgePorts = await portsOf(options.port, options.replicas['edge-proxy']);
  const operatorPorts = await portsOf(options.operatorPort ?? 0, options.replicas.dashboard);
  const dashboardPorts = await portsOf(options.dashboardPort ?? 0, options.replicas.dashboard);
  const firstPorts = { edge: edgePorts[0] ?? 0, dashboard: dashboardPorts[0] ?? 0 };
  const own = addressesOf(servers, secrets, firstPorts, mailbox.url);
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
  const children = await makeChildren(
    options,
    addresses,
    secrets,
    { edgePorts, operatorPorts, dashboardPorts },
    onChange,
  );
  const providerUrls = children.simulatorPorts.map((port) => `http://127.0.0.1:${port}`);

  function running(): RunningFile {
    const all = [...children.byName];
    const pidsOf = (list: readonly Child[]) => list.flatMap((child) => child.pid ?? []);
    return {
      edgeUrl: addresses.publicUrl,
      edgeUrls: edgePorts.map((port) => `http://127.0.0.1:${port}`),
      chatBaseUrl: `${addresses.publicUrl}/v1`,
      messagesBaseUrl: addresses.publicUrl,
      dashboardUrl: addresses.dashboardUrl,
      operatorUrl: `http://127.0.0.1:${operatorPorts[0] ?? 0}/operator/v1`,
      operatorToken: secrets.operatorToken,
      demoApiKey,
      providerUrls,
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
      await Promise.all((children.byName.get(name) ?? []).map((child) => child.stop(STOP_GRACE_MS)));
    }
    await stopFoundations({ servers, mailbox, mailboxPage });
  }

  async function killAll(): Promise<void> {
    await Promise.all([...children.byName.values()].flat().map((child) => child.stop(0, 'SIGKILL')));
    await stopFoundations({ servers, mailbox, mailboxPage });
    removeRunningFile(options.stateDirectory);
  }

  try {
    const starts = () => Promise.all([...children.byName.values()].flat().map((child) => child.start()));
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
    children: (name) => children.byName.get(name) ?? [],
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

/** One port per replica: the first as wished (0: any), the others free ones. */
async function portsOf(first: number, replicas: number): Promise<number[]> {
  const ports = [first === 0 ? await freePort() : first];
  while (ports.length < replicas) ports.push(await freePort());
  return ports;
}

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

/** In replica order. */
interface OuterPorts {
  readonly edgePorts: readonly number[];
  readonly operatorPorts: readonly number[];
  readonly dashboardPorts: readonly number[];
}

async function makeChildren(
  options: SystemOptions,
  addresses: Addresses,
  secrets: Secrets,
  { edgePorts, operatorPorts, dashboardPorts }: OuterPorts,
  onChange: (text: string) => void,
): Promise<{ byName: Map<ProcessName, Child[]>; simulatorPorts: [number, number] }> {
  const simulatorPorts: [number, number] = [
    options.ports?.['simulator-a'] || (await freePort()),
    options.ports?.['simulator-b'] || (await freePort()),
  ];
  const byName = new Map<ProcessName, Child[]>();
  const add = async (name: ProcessName, n: number, env: Record<string, string>) => {
    const adminPort = await freePort();
    const child = new Child({
      name,
      n,
      program: programOf(name),
      env: { ...process.env, GATEWAY_ADMIN_PORT: String(adminPort), ...env, ...options.env },
      adminUrl: `http://127.0.0.1:${adminPort}`,
      logFile: `${options.stateDirectory}/logs/${name}-${n}.jsonl`,
      onChange,
    });
    byName.set(name, [...(byName.get(name) ?? []), child]);
  };
  for (const service of SERVICES) {
    for (let n = 1; n <= options.replicas[service]; n += 1) {
      const own =
        service === 'edge-proxy'
          ? edgeEnvironment(edgePorts[n - 1] ?? 0)
          : service === 'dashboard'
            ? dashboardEnvironment(operatorPorts[n - 1] ?? 0, dashboardPorts[n - 1] ?? 0)
            : {};
      await add(service, n, {
        ...environmentOf(service, addresses, secrets),
        ...own,
        GATEWAY_REPLICA: `${service}-${n}`,
      });
    }
  }
  await add('provider-simulator', 1, { GATEWAY_SIMULATOR_PORTS: simulatorPorts.join(',') });
  return { byName, simulatorPorts };
}

function dashboardEnvironment(operatorPort: number, port: number): Record<string, string> {
  return {
    GATEWAY_DASHBOARD_HOST: '127.0.0.1',
    GATEWAY_DASHBOARD_PORT: String(port),
    GATEWAY_OPERATOR_PORT: String(operatorPort),
  };
}

function edgeEnvironment(port: number): Record<string, string> {
  return { GATEWAY_HOST: '127.0.0.1', GATEWAY_PORT: String(port), GATEWAY_DRAIN_MS: String(DRAIN_MS) };
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
