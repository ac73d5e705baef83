import type { Bus } from '@gateway/bus';
import {
  accountsFind,
  accountsLoad,
  accountsUnchanged,
  admissionAuthorize,
  billingLoad,
  billingUnchanged,
  modelEntryKey,
  subjectPattern,
  usageEvents,
  usageSubjects,
} from '@gateway/contracts/messages';
import type { UsageEvent } from '@gateway/contracts/messages';
import { makeUuidV7 } from '@gateway/contracts/ids';
import type { RunningServer } from '@gateway/servers';
import type { ReadyChecks } from '@gateway/service-kit';
import { serviceContext, silentLog, startTestBus, startTestRedis, until, type OwnServer } from '@gateway/testkit';
import { ADMISSION_FIELDS } from '../src/config.js';
import type { Durations, Ports } from '../src/ports.js';
import { startAdmission } from '../src/service.js';
import type { StartedAdmission } from '../src/service.js';
import { figures, model, source } from './world.js';

const MEBIBYTE = 1024 * 1024;
const TOKEN_PRICES = [{ version: 'pt', effectiveFrom: 0, figures: figures({ outputPerMillion: 9_000_000 }) }];

export interface BusWorld {
  readonly nats: RunningServer;
  readonly redis: RunningServer;
  /** URL of NATS with the user of admission. */
  readonly admissionUrl: string;
  readonly buses: Record<'edge-proxy' | 'billing' | 'accounts' | 'catalog' | 'dashboard', Bus>;
  /** Events that admission has stored. */
  readonly events: UsageEvent[];
  publishCatalog(revision: number): Promise<void>;
  /** Opens a further connection. */
  connect(service: 'edge-proxy' | 'admission'): Promise<Bus>;
  start(
    replica: string,
    durations?: Partial<Omit<Durations, 'decideMs'>>,
  ): Promise<StartedAdmission & { ready: ReadyChecks }>;
  stop(): Promise<void>;
}

/** Plays billing, which owns the stream of usage events. The stream already exists. */
export type PlayBilling = (billing: Bus, events: UsageEvent[]) => void;

/**
 * Starts Redis and NATS with the users of all services, and owners that answer on the bus.
 * @param playBilling replaces the default, which answers like `owners` and only collects the events
 */
export async function makeBusWorld(
  owners: Ports['owners'],
  { playBilling, own }: { playBilling?: PlayBilling } & OwnServer = {},
): Promise<BusWorld> {
  const [redis, bus] = await Promise.all([startTestRedis({ own }), startTestBus({ own })]);
  const [edge, billing, accounts, catalog, dashboard] = await Promise.all([
    bus.connect('edge-proxy'),
    bus.connect('billing'),
    bus.connect('accounts'),
    bus.connect('catalog'),
    bus.connect('dashboard'),
  ]);
  const events: UsageEvent[] = [];
  accounts.serve(accountsFind, async ({ digests }) => ({ found: await owners.find(digests) }));
  accounts.serve(accountsLoad, ({ account, key }) => owners.loadAccount(account, key));
  accounts.serve(accountsUnchanged, (question) => owners.unchangedRecords(question.accounts));
  await ensureUsage(billing);
  if (playBilling) playBilling(billing, events);
  else collectEvents(billing, owners, events);
  const started: StartedAdmission[] = [];
  return {
    nats: bus.nats,
    redis: redis.server,
    admissionUrl: bus.urlFor('admission'),
    buses: { 'edge-proxy': edge, billing, accounts, catalog, dashboard },
    events,
    connect: (service) => bus.connect(service),
    publishCatalog: (revision) =>
      catalog.publishBucket(
        'catalog',
        new Map([
          [modelEntryKey('acme/fixed'), JSON.stringify(model('acme/fixed', {}))],
          ['source.src-acme-fixed', JSON.stringify(source('acme/fixed', {}))],
          [modelEntryKey('acme/tokens'), JSON.stringify(model('acme/tokens', { prices: TOKEN_PRICES }))],
          ['source.src-acme-tokens', JSON.stringify(source('acme/tokens', {}))],
          [modelEntryKey('acme/broken'), '{"v":9}'],
        ]),
        revision,
      ),
    async start(replica, durations = {}) {
      const { leaseMs = 30_000, expiryMs = 120_000, sweepMs = 200 } = durations;
      const env = {
        GATEWAY_NATS_URL: bus.urlFor('admission'),
        GATEWAY_REDIS_URL: redis.server.url,
        GATEWAY_LEASE_MS: String(leaseMs),
        GATEWAY_EXPIRY_MS: String(expiryMs),
        GATEWAY_SWEEP_MS: String(sweepMs),
        GATEWAY_USAGE_STREAM_BYTES: String(64 * MEBIBYTE),
      };
      const context = serviceContext(ADMISSION_FIELDS, env, silentLog, replica, bus.clock);
      const admission = await startAdmission(context);
      started.push(admission);
      await until('calls are served', () => isServed(edge, replica));
      return { ...admission, ready: context.ready };
    },
    async stop() {
      for (const admission of started) await admission.stop();
      await Promise.all([bus.stop(), redis.stop()]);
    },
  };
}

/** A handler rejects an unknown version itself. Without a handler the bus answers. */
async function isServed(edge: Bus, replica: string): Promise<boolean> {
  const unknown = { ...admissionAuthorize, version: 9_999 };
  const body = { id: makeUuidV7(Date.now()), digests: ['0'.repeat(64)] };
  return edge.request(unknown, body, { replica }).then(
    () => true,
    (error: { code?: string }) => error.code === 'invalid_message',
  );
}

/** Creates the stream of usage events, like billing. */
export function ensureUsage(billing: Bus): Promise<void> {
  return billing.ensureStream({
    stream: usageEvents.stream,
    subjects: usageSubjects(),
    discard: 'new',
    bytesMax: 64 * MEBIBYTE,
    ageMaxMs: 3_600_000,
    duplicateWindowMs: 1_000,
    replicas: 1,
  });
}

function collectEvents(billing: Bus, owners: Ports['owners'], events: UsageEvent[]): void {
  billing.serve(billingLoad, (question) => owners.loadBalances(question));
  billing.serve(billingUnchanged, (question) => owners.unchangedBalances(question.accounts));
  billing.consume({
    stream: usageEvents.stream,
    durable: 'billing',
    filterSubject: subjectPattern(usageEvents),
    batchMax: 10,
    maxAckPending: 100,
    ackWaitMs: 5_000,
    handler: async (deliveries) => {
      for (const delivery of deliveries) {
        const decoded = billing.decode(usageEvents, delivery.data);
        if (decoded.ok) events.push(...decoded.body.events);
        delivery.ack();
      }
    },
  });
}
