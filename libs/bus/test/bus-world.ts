import { SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import { startServers, type RestartOptions } from '@gateway/servers';
import { patientClock } from '@gateway/testkit/clocks';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectBus, natsAuthorization, type Bus, type BusOptions, type StreamSettings } from '../src/index.js';
import { TEST_BUCKETS, TEST_MESSAGES } from './messages.js';

/** Longer than any wait inside a test, so that the wait fails with its own message first. */
export const TEST_TIMEOUT_MS = 120_000;
const DEADLINE_MS = 45_000;
const STEP_MS = 5;
const DRAIN_MS = 5_000;
/** No slow process is disconnected. A repeated setting of the server replaces the one before. */
const OWNER = '{ user: "owner", password: "for tests" }';
const PATIENT_PINGS = 'ping_interval: "60s"\n';
const PASSWORDS = Object.fromEntries(SERVICE_NAMES.map((name) => [name, `pass-${name}-$2 "x`])) as Record<
  ServiceName,
  string
>;

export interface LogLine {
  level: 'info' | 'warn' | 'error';
  fields: object;
  text: string;
}

/** A private NATS server with one user per service, and buses on it. */
export interface BusWorld {
  readonly log: LogLine[];
  urlFor(service: ServiceName): string;
  /** Options of the library for a user with all permissions. */
  readonly owner: { readonly servers: string; readonly user: string; readonly pass: string };
  connect(service: ServiceName, options?: Partial<BusOptions>): Promise<Bus>;
  restart(options: RestartOptions): Promise<void>;
  stop(): Promise<void>;
}

/**
 * The buses wait at least a minute for the server and for replies, which is longer than any wait of
 * a test. Pass another clock to `connect` for a test of a timeout.
 * @param config further settings of the server. Default: it waits as long for its clients.
 */
export async function startBusWorld(config = PATIENT_PINGS): Promise<BusWorld> {
  const stateDirectory = await mkdtemp(join(tmpdir(), 'bus-test-'));
  const { nats } = await startServers(['nats'], {
    stateDirectory,
    // A private server: tests kill it, empty it and configure its permissions.
    env: { ...process.env, GATEWAY_NATS_URL: '' },
    durable: false,
    nats: {
      config:
        config + natsAuthorization(PASSWORDS, TEST_MESSAGES, TEST_BUCKETS).replace('users = [', `users = [ ${OWNER}`),
      credentials: { user: 'catalog', password: PASSWORDS.catalog },
    },
  });
  const port = new URL(nats.url).port;
  const buses: Bus[] = [];
  const log: LogLine[] = [];
  const write = (level: LogLine['level']) => (fields: object, text: string) => void log.push({ level, fields, text });
  const urlFor = (service: ServiceName): string =>
    `nats://${service}:${encodeURIComponent(PASSWORDS[service])}@127.0.0.1:${port}`;
  return {
    log,
    urlFor,
    owner: { servers: `127.0.0.1:${port}`, user: 'owner', pass: 'for tests' },
    connect: async (service, options) => {
      const bus = await connectBus({
        url: urlFor(service),
        service,
        replica: `r${buses.length}`,
        log: { info: write('info'), warn: write('warn'), error: write('error') },
        clock: patientClock,
        ...options,
      });
      buses.push(bus);
      return bus;
    },
    restart: async (options) => {
      if (nats.restart === undefined) throw new Error('this NATS server cannot be restarted');
      await nats.restart(options);
    },
    stop: async () => {
      await Promise.all(buses.map((bus) => bus.drain(DRAIN_MS)));
      await nats.stop();
      await rm(stateDirectory, { recursive: true, force: true });
    },
  };
}

/**
 * Repeats the check until it is true, for at most 45 s. The bus cannot use the test kit's `until`,
 * because the test kit depends on the bus.
 */
export async function until(what: string, ask: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await ask())) {
    if (performance.now() > deadline) throw new Error(`not within ${DEADLINE_MS} ms: ${what}`);
    await delay(STEP_MS);
  }
}

/** Returns the code of the BusFault that a promise rejects with. */
export async function faultCode(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
  return 'no fault';
}

export const USAGE_SETTINGS: StreamSettings = {
  stream: 'USAGE',
  subjects: ['test.recorded.*'],
  discard: 'new',
  bytesMax: 64 * 1024 * 1024,
  ageMaxMs: 3_600_000,
  duplicateWindowMs: 120_000,
  replicas: 1,
};

export const HEARTBEATS_SETTINGS: StreamSettings = {
  stream: 'HEARTBEATS',
  subjects: ['test.pulse.*'],
  discard: 'old',
  bytesMax: 64 * 1024 * 1024,
  ageMaxMs: 3_600_000,
  messagesPerSubjectMax: 1,
  duplicateWindowMs: 120_000,
  replicas: 1,
};
