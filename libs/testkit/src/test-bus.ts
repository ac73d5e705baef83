import { connectBus, natsPermissions, type Bus } from '@gateway/bus';
import { MESSAGES, SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import type { RunningServer } from '@gateway/servers';
import { changeUrl } from '@gateway/service-kit';
import { borrowServer } from './borrow-server.js';
import { silentLog } from './logs.js';
import { startTestServer } from './start-test-server.js';
import type { OwnServer } from './test-redis.js';

/** Accounts of the shared server. */
const ACCOUNTS = 64;
/** Of all users; no test is about passwords. */
const PASSWORD = 'for tests';
/** The user of each account who may do everything in it. */
const OWNER = 'owner';
const DRAIN_MS = 5_000;

/**
 * NATS with the users and permissions of all services: a test plays the services that it does not
 * start.
 */
export interface TestBus {
  readonly nats: RunningServer;
  /** The URL that a service's environment would carry. */
  urlFor(service: ServiceName): string;
  /**
   * A connection with the rights of a service; drained by `stop`. `replica` is its name; one is
   * made when absent.
   */
  connect(service: ServiceName, replica?: string): Promise<Bus>;
  stop(): Promise<void>;
}

interface TestBusOptions extends OwnServer {
  /**
   * A subject to which no service may publish, although services expect to: on a server of its own.
   */
  readonly withheld?: string;
}

/** An account without streams. */
export async function startTestBus({ withheld, own = withheld !== undefined }: TestBusOptions = {}): Promise<TestBus> {
  const { server: nats, place, stop } = own ? await startOwn(withheld) : await borrowAccount();
  const buses: Bus[] = [];
  const urlFor = (service: ServiceName): string => asUser(nats.url, userName(place, service));
  return {
    nats,
    urlFor,
    async connect(service, replica = `test-${buses.length}`) {
      const bus = await connectBus({ url: urlFor(service), service, replica, log: silentLog });
      buses.push(bus);
      return bus;
    },
    async stop() {
      await Promise.all(buses.map((bus) => bus.drain(DRAIN_MS)));
      await stop();
    },
  };
}

async function startOwn(withheld?: string) {
  const { config, credentials } = natsOptions(1);
  if (withheld !== undefined && !config.includes(`"${withheld}"`)) {
    throw new Error(`no service may publish to ${withheld} anyway`);
  }
  const without = withheld === undefined ? config : config.replaceAll(`"${withheld}"`, '"withheld"');
  const started = await startTestServer('nats', { nats: { config: without, credentials } });
  return { ...started, place: 0 };
}

async function borrowAccount() {
  const { server, place, giveBack } = await borrowServer({
    server: 'nats',
    options: { nats: natsOptions(ACCOUNTS) },
    places: ACCOUNTS,
  });
  const stop = async (): Promise<void> => {
    await deleteStreams(asUser(server.url, userName(place, OWNER)));
    await giveBack();
  };
  return { server, place, stop };
}

/** Accounts with a user for each service, and one who may do everything. */
function natsOptions(accounts: number) {
  const permissions = SERVICE_NAMES.map((name) => `MAY_${name}: ${natsPermissions(name, MESSAGES)}\n`);
  const account = (place: number): string => {
    const users = SERVICE_NAMES.map((name) => `${user(userName(place, name))}, permissions: $MAY_${name} }`);
    return `  A${place} { jetstream: enabled, users: [${[...users, `${user(userName(place, OWNER))} }`].join(', ')}] }\n`;
  };
  const user = (name: string): string => `{ user: "${name}", password: "${PASSWORD}"`;
  const all = Array.from({ length: accounts }, (_, place) => account(place));
  return {
    config: `${permissions.join('')}accounts {\n${all.join('')}}\n`,
    credentials: { user: userName(0, OWNER), password: PASSWORD },
  };
}

function userName(place: number, name: string): string {
  return `${place}-${name}`;
}

function asUser(url: string, name: string): string {
  return changeUrl(url, (own) => (own.username = name));
}

async function deleteStreams(url: string): Promise<void> {
  const { hostname, port, username, password } = new URL(url);
  const { connect } = await import('nats');
  const nats = await connect({ servers: `${hostname}:${port}`, user: username, pass: decodeURIComponent(password) });
  const { streams } = await nats.jetstreamManager();
  for await (const { config } of streams.list()) await streams.delete(config.name);
  await nats.close();
}
