import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBus, natsAuthorization, type Bus } from '@gateway/bus';
import { MESSAGES, SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import { startServers, type RunningServer } from '@gateway/servers';
import { ReadyChecks, systemClock, type Clock } from '@gateway/service-kit';
import { startBilling } from '../src/wire.js';
import { silentLog, startLedgerWorld, type LedgerDatabase } from './ledger-world.js';

const PASSWORDS = Object.fromEntries(SERVICE_NAMES.map((name) => [name, `password-${name}`])) as Record<
  ServiceName,
  string
>;
const STREAM_BYTES = 64 * 1024 * 1024;
const DRAIN_MS = 5_000;

export interface RunningBilling {
  readonly ready: ReadyChecks;
  stop(): Promise<void>;
}

/** Billing with real servers, and the other services' places on the bus. */
export interface BillingWorld {
  readonly nats: RunningServer;
  readonly ledger: LedgerDatabase;
  /** A bus with the rights of a service. */
  connect(service: ServiceName): Promise<Bus>;
  start(replica: string, clock?: Clock): Promise<RunningBilling>;
  stop(): Promise<void>;
}

export async function startBillingWorld(): Promise<BillingWorld> {
  const stateDirectory = mkdtempSync(join(tmpdir(), 'gateway-billing-bus-'));
  const [ledgers, { nats }] = await Promise.all([
    startLedgerWorld(),
    startServers(['nats'], {
      stateDirectory,
      durable: false,
      env: { ...process.env, GATEWAY_NATS_URL: '' },
      nats: {
        config: natsAuthorization(PASSWORDS, MESSAGES),
        credentials: { user: 'dashboard', password: PASSWORDS.dashboard },
      },
    }),
  ]);
  const ledger = await ledgers.ledger();
  const port = new URL(nats.url).port;
  const urlFor = (service: ServiceName): string => `nats://${service}:${PASSWORDS[service]}@127.0.0.1:${port}`;
  const buses: Bus[] = [];
  const running = new Set<RunningBilling>();
  return {
    nats,
    ledger,
    async connect(service) {
      const bus = await connectBus({
        url: urlFor(service),
        service,
        replica: `${service}-${buses.length}`,
        log: silentLog,
      });
      buses.push(bus);
      return bus;
    },
    async start(replica, clock = systemClock) {
      const ready = new ReadyChecks();
      const service = await startBilling({
        natsUrl: urlFor('billing'),
        postgresUrl: ledger.url,
        streamBytesMax: STREAM_BYTES,
        streamReplicas: 1,
        replica,
        log: silentLog,
        clock,
        ready,
        stopping: new AbortController().signal,
      });
      const billing: RunningBilling = {
        ready,
        async stop() {
          if (running.delete(billing)) await service.stop();
        },
      };
      running.add(billing);
      return billing;
    },
    async stop() {
      await Promise.all([...running].map((billing) => billing.stop()));
      await Promise.all(buses.map((bus) => bus.drain(DRAIN_MS)));
      await Promise.all([ledgers.stop(), nats.stop()]);
      rmSync(stateDirectory, { recursive: true, force: true });
    },
  };
}
