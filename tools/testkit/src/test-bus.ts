import { connectBus, natsPermissions, type Bus } from '@gateway/bus';
import { MESSAGES, SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import type { RunningServer } from '@gateway/servers';
import { changeUrl, systemClock, type TimerClock } from '@gateway/service-kit';
import { borrowServer } from './borrow-server.js';
import { patientClock } from './clocks.js';
import { silentLog } from './logs.js';
import { startTestServer, type TestServer } from './start-test-server.js';
import type { OwnServer } from './test-redis.js';

const ACCOUNTS = 64;
/** Password of all users: no test is about passwords. */
const PASSWORD = 'for tests';
const OWNER = 'owner';
const DRAIN_MS = 5_000;
/** The shared server disconnects no slow process. A repeated setting replaces the one before. */
const PATIENT_PINGS = 'ping_interval: "60s"';

/** NATS with the users and permissions of all services. Tests play those that they do not start. */
export interface TestBus {
  readonly nats: RunningServer;
  /**
   * For the services and the connections of the test. On the shared server, timeouts are at least a
   * minute; a suite with its own server can stop it, so it has the timeouts of production.
   */
  readonly clock: TimerClock;
  /** Returns the NATS URL for the environment of a service. */
  urlFor(service: ServiceName): string;
  /**
   * Connects with the permissions of a service. `stop` drains the connection. `replica` is its
   * name; a name is generated if it is absent.
   */
  connect(service: ServiceName, replica?: string): Promise<Bus>;
  stop(): Promise<void>;
}

interface TestBusOptions extends OwnServer {
  /**
   * Removes the permission to publish to this subject, although services need it. Implies `own`.
   */
  readonly withheld?: string;
}

/** Starts a bus on an account without streams. */
export async function startTestBus({ withheld, own = withheld !== undefined }: TestBusOptions = {}): Promise<TestBus> {
  const { server: nats, place, stop } = await (own ? startOwn(withheld) : borrowAccount());
  const buses: Bus[] = [];
  const urlOf = (name: string): string => changeUrl(nats.url, (url) => (url.username = `${place}-${name}`));
  const clock = own ? systemClock : patientClock;
  return {
    nats,
    clock,
    urlFor: urlOf,
    async connect(service, replica = `test-${buses.length}`) {
      const bus = await connectBus({ url: urlOf(service), service, replica, log: silentLog, clock });
      buses.push(bus);
      return bus;
    },
    async stop() {
      await Promise.all(buses.map((bus) => bus.drain(DRAIN_MS)));
      if (!own) await deleteStreams(urlOf(OWNER));
      await stop();
    },
  };
}

function borrowAccount(): Promise<TestServer> {
  return borrowServer({ server: 'nats', options: { nats: natsOptions(ACCOUNTS, [PATIENT_PINGS]) }, places: ACCOUNTS });
}

function startOwn(withheld: string | undefined): Promise<TestServer> {
  const nats = natsOptions(1);
  if (withheld !== undefined && !nats.config.includes(`"${withheld}"`)) {
    throw new Error(`cannot withhold ${withheld}: no service has permission to publish to it`);
  }
  const config = withheld === undefined ? nats.config : nats.config.replaceAll(`"${withheld}"`, '"withheld"');
  return startTestServer('nats', { nats: { ...nats, config } });
}

/** Configures accounts, each with a user for each service and an owner with all permissions. */
function natsOptions(accounts: number, settings: readonly string[] = []) {
  const permissions = SERVICE_NAMES.map((name) => `MAY_${name}: ${natsPermissions(name, MESSAGES)}`);
  const user = (place: number, name: string, more = ''): string =>
    `{ user: "${place}-${name}", password: "${PASSWORD}"${more} }`;
  const account = (_none: unknown, place: number): string => {
    const users = SERVICE_NAMES.map((name) => user(place, name, `, permissions: $MAY_${name}`));
    return `  A${place} { jetstream: enabled, users: [${[...users, user(place, OWNER)].join(', ')}] }`;
  };
  const lines = [...settings, ...permissions, 'accounts {', ...Array.from({ length: accounts }, account), '}'];
  return { config: lines.join('\n'), credentials: { user: `0-${OWNER}`, password: PASSWORD } };
}

async function deleteStreams(url: string): Promise<void> {
  const { host, username, password } = new URL(url);
  const { connect } = await import('nats');
  const nats = await connect({ servers: host, user: username, pass: decodeURIComponent(password) });
  const { streams } = await nats.jetstreamManager();
  for await (const { config } of streams.list()) await streams.delete(config.name);
  await nats.close();
}
