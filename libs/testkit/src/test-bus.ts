import { connectBus, natsAuthorization, type Bus } from '@gateway/bus';
import { MESSAGES, SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import type { RunningServer } from '@gateway/servers';
import { silentLog } from './logs.js';
import { startTestServer } from './start-test-server.js';

const PASSWORDS = Object.fromEntries(SERVICE_NAMES.map((name) => [name, `for-${name}`])) as Record<ServiceName, string>;
const DRAIN_MS = 5_000;

/**
 * A NATS server with the users and permissions of all services: a test plays the services that it
 * does not start.
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

/** @param withheld a subject to which no service may publish, although services expect to */
export async function startTestBus(withheld?: string): Promise<TestBus> {
  const authorization = natsAuthorization(PASSWORDS, MESSAGES);
  if (withheld !== undefined && !authorization.includes(`"${withheld}"`)) {
    throw new Error(`no service may publish to ${withheld} anyway`);
  }
  const { server: nats, stop } = await startTestServer('nats', {
    nats: {
      config: withheld === undefined ? authorization : authorization.replaceAll(`"${withheld}"`, '"withheld"'),
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
