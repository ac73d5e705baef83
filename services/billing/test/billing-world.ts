import type { Bus } from '@gateway/bus';
import type { ServiceName } from '@gateway/contracts/messages';
import type { RunningServer } from '@gateway/servers';
import { ReadyChecks, Secret, systemClock, type Clock } from '@gateway/service-kit';
import { silentLog, startTestBus, type TestDatabase } from '@gateway/testkit';
import { type BillingOptions, startBilling } from '../src/service.js';
import { startLedgerWorld } from './ledger-world.js';

const STREAM_BYTES = 64 * 1024 * 1024;
/** Under which the world's webhook secrets are sealed. */
export const WEBHOOK_KEY = new Secret(Buffer.alloc(32, 9));

export interface RunningBilling {
  readonly ready: ReadyChecks;
  stop(): Promise<void>;
}

/** Billing with real servers, and the other services' places on the bus. */
export interface BillingWorld {
  readonly nats: RunningServer;
  readonly ledger: TestDatabase;
  /** A bus with the rights of a service. */
  connect(service: ServiceName): Promise<Bus>;
  start(replica: string, clock?: Clock, changes?: Partial<BillingOptions>): Promise<RunningBilling>;
  stop(): Promise<void>;
}

export async function startBillingWorld(): Promise<BillingWorld> {
  const [ledgers, bus] = await Promise.all([startLedgerWorld(), startTestBus()]);
  const ledger = await ledgers.ledger();
  const running = new Set<RunningBilling>();
  return {
    nats: bus.nats,
    ledger,
    connect: (service) => bus.connect(service),
    async start(replica, clock = systemClock, changes = {}) {
      const ready = new ReadyChecks();
      const service = await startBilling({
        natsUrl: bus.urlFor('billing'),
        postgresUrl: ledger.url,
        streamBytesMax: STREAM_BYTES,
        streamReplicas: 1,
        webhookKeys: { privateKey: { current: WEBHOOK_KEY, previous: null }, formerKey: null },
        privateAllowed: false,
        replica,
        log: silentLog,
        clock,
        ready,
        stopping: new AbortController().signal,
        ...changes,
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
      await Promise.all([ledgers.stop(), bus.stop()]);
    },
  };
}
