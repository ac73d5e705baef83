import { connectBus, natsAuthorization, type Bus } from '@gateway/bus';
import { MESSAGES, SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import { startServers, type RunningServer } from '@gateway/servers';
import { silentLog } from './logs.js';
import { temporaryDirectory } from './temporary-directory.js';

const PASSWORDS = Object.fromEntries(SERVICE_NAMES.map((name) => [name, `for-${name}`])) as Record<ServiceName, string>;
const DRAIN_MS = 5_000;

/** A NATS server with the users and permissions of all services: a test plays the services that it does not start. */
export interface TestBus {
  readonly nats: RunningServer;
  /** The URL that a service's environment would carry. */
  urlFor(service: ServiceName): string;
  /** A connection with the rights of a service; drained by `stop`. */
  connect(service: ServiceName): Promise<Bus>;
  stop(): Promise<void>;
}

export async function startTestBus(): Promise<TestBus> {
  const directory = temporaryDirectory('bus');
  const { nats } = await startServers(['nats'], {
    stateDirectory: directory.path,
    // A server of its own: tests stop, empty and overwrite it.
    env: { ...process.env, GATEWAY_NATS_URL: '' },
    durable: false,
    nats: {
      config: natsAuthorization(PASSWORDS, MESSAGES),
      credentials: { user: 'dashboard', password: PASSWORDS.dashboard },
    },
  });
  const buses: Bus[] = [];
  const urlFor = (service: ServiceName): string => {
    const url = new URL(nats.url);
    url.username = service;
    url.password = PASSWORDS[service];
    return url.href;
  };
  return {
    nats,
    urlFor,
    async connect(service) {
      const replica = `test-${buses.length}`;
      const bus = await connectBus({ url: urlFor(service), service, replica, log: silentLog });
      buses.push(bus);
      return bus;
    },
    async stop() {
      await Promise.all(buses.map((bus) => bus.drain(DRAIN_MS)));
      await nats.stop();
      directory.remove();
    },
  };
}
