import { setTimeout as sleep } from 'node:timers/promises';
import { type Bus, BusFault, connectBus } from '@gateway/bus';
import {
  createPool,
  isConnectionFault,
  isValueFault,
  type Outbox,
  type Pool,
  poolConnections,
} from '@gateway/postgres';
import {
  type Clock,
  gauge,
  type Logger,
  nextDelayMs,
  type OpeningKeys,
  type ReadyChecks,
  type RunningService,
} from '@gateway/service-kit';
import { makeLoadStore } from './accounts/load-store.js';
import { joinCalls } from './accounts/single-flight.js';
import { createAccountStore } from './accounts/store.js';
import { makeAlertStore } from './alerts/store.js';
import { makeExportStore } from './exports/store.js';
import { makeFinanceStore } from './finance/store.js';
import { makeLedgerReader } from './ledger/audit-store.js';
import { makeAuditStore } from './ledger/changes-store.js';
import { makeMonths, type Months } from './ledger/months.js';
import { readIncarnation } from './ledger/store.js';
import { createTransactionStore } from './ledger/transactions-store.js';
import { watchLedger } from './ledger/watch.js';
import { startKeeping } from './maintenance.js';
import { startAdmissionOutbox, startAlertOutboxes, watchOutboxAges } from './outboxes.js';
import { makePlanStore } from './plans/store.js';
import { serveRecords } from './records/handlers.js';
import { makeUsageHoursStore } from './records/hours-store.js';
import { makeRefusedStore } from './records/refused-store.js';
import { makeLimitsStore } from './subscriptions/limits-store.js';
import { startKeepingSubscriptions } from './subscriptions/renewals.js';
import { createSubscriptionStore } from './subscriptions/store.js';
import { createPipelinedPool } from './usage/pipeline-store.js';
import { makeProgressStore } from './usage/progress-store.js';
import { makeSettleMeter } from './usage/settle-meter.js';
import { isInfrastructureFault, makeSettleStore } from './usage/settle-store.js';
import { makeShardLocks } from './usage/shard-locks-store.js';
import { makeAnnouncer, makeUsageStream, type UsageStream } from './usage/stream.js';
import { startUsageWorker, type UsageWorker } from './usage/worker.js';
import { makeWalletStore } from './wallets/store.js';
import { serveWebhooks } from './webhooks/handlers.js';
import { makeWebhookStore } from './webhooks/store.js';
import { serveAccounts } from './accounts/handlers.js';
import { serveAlerts } from './alerts/handlers.js';
import { serveExports } from './exports/handlers.js';
import { serveFinance } from './finance/handlers.js';
import { serveLedger } from './ledger/handlers.js';
import { servePlans } from './plans/handlers.js';
import { createRecordStore } from './records/store.js';
import { serveSubscriptions } from './subscriptions/handlers.js';
import { createRenewalStore } from './subscriptions/renewals-store.js';
import { serveWallets } from './wallets/handlers.js';
import { makeDeliveryStore } from './webhooks/delivery-store.js';

export interface BillingOptions {
  readonly natsUrl: string;
  readonly postgresUrl: string;
  readonly streamBytesMax: number;
  readonly streamReplicas: number;
  /** Open the secrets of webhooks. */
  readonly webhookKeys: OpeningKeys;
  /** Webhooks on private and loopback addresses. */
  readonly privateAllowed: boolean;
  /** How attempts at webhooks are spaced; the rule's times when absent. */
  readonly webhookRetry?: { readonly baseMs: number; readonly maxMs: number };
  readonly replica: string;
  readonly log: Logger;
  readonly clock: Clock;
  readonly ready: ReadyChecks;
  readonly stopping: AbortSignal;
}

/** A hung process gives up the rows that its transactions have locked after this time. */
const IDLE_IN_TRANSACTION_MS = 5_000;
/** One for each shard, and for months that are missing. */
const SETTLE_CONNECTIONS_MAX = 6;
/** Connections for all requests; one more keeps the shard locks. */
const CONNECTIONS_MAX = 20;
/** How what a server did not take is tried again. */
const RETRY = { baseMs: 100, maxMs: 2_000, random: Math.random };
const DRAIN_MS = 10_000;

/** Opens database, bus, stream, workers and doors, in this order. */
export async function startBilling(options: BillingOptions): Promise<RunningService> {
  const { log, clock, ready, stopping } = options;
  const opened = { database: false, bus: false };
  // Both were reached once: a later fault of a shared server must not take every replica out at once.
  ready.add('database', () => opened.database || 'not reached yet');
  ready.add('bus', () => opened.bus || 'not connected yet');

  const postgresUrl = withIdleLimit(options.postgresUrl);
  const pool = createPool(postgresUrl, { applicationName: 'billing', max: CONNECTIONS_MAX, log });
  const settlePool = createPipelinedPool(postgresUrl, {
    applicationName: 'billing',
    max: SETTLE_CONNECTIONS_MAX,
    log,
  });
  const locksPool = createPool(postgresUrl, { applicationName: 'billing shard locks', max: 2, log });
  const incarnation = await untilReached(() => readIncarnation(pool), log, stopping);
  opened.database = true;
  const settleStore = makeSettleStore(pool);
  const months = makeMonths(settleStore);
  await months.makeAhead(clock.nowMs());

  const bus = await connectBus({ url: options.natsUrl, service: 'billing', replica: options.replica, log });
  const stream = makeUsageStream(bus, options.streamBytesMax, options.streamReplicas, incarnation);
  await stream.ensure();
  opened.bus = true;

  const outbox = startAdmissionOutbox(pool, bus, incarnation, log);
  const alerts = startAlertOutboxes({ ...options, pool, bus });
  const worker = startWorker({ options, settlePool, locksPool, bus, stream, incarnation, months, nudge: alerts.nudge });
  const maintenance = startKeeping({
    store: makeProgressStore(pool),
    refused: makeRefusedStore(pool),
    stream,
    months,
    clock,
    log,
  });
  const watching = watchLedger({ reader: makeLedgerReader(pool), log });
  const renewals = startKeepingSubscriptions({
    store: createRenewalStore(pool),
    nudge: () => outbox.nudge(),
    clock,
    log,
  });
  const ages = watchOutboxAges(pool);
  gauge(
    'gateway_billing_pool_connections',
    'Database connections, and queries that wait for one',
    () => poolConnections([pool, settlePool, locksPool]),
    { label: 'state' },
  );
  serveFeatures({ options, pool, stream, months, inForce: outbox }, withStoreFaults(bus));
  await bus.listening();

  return {
    async stop() {
      await Promise.all([worker.stop(), renewals.stop(), alerts.stop()]);
      await bus.drain(DRAIN_MS);
      await Promise.all([outbox.stop(), maintenance.stop(), watching.stop(), ages.stop()]);
      await Promise.all([pool.end(), settlePool.end(), locksPool.end()]);
    },
  };
}

interface FeatureParts {
  readonly options: BillingOptions;
  readonly pool: Pool;
  readonly stream: UsageStream;
  readonly months: Months;
  readonly inForce: Pick<Outbox, 'awaitDelivered'>;
}

/** Gives each feature its stores, and the bus its handlers. */
function serveFeatures({ options, pool, stream, months, inForce }: FeatureParts, bus: Bus): void {
  const { clock, log, privateAllowed } = options;
  const now = (): number => clock.nowMs();
  const transactions = createTransactionStore(pool);
  const loadStore = makeLoadStore(pool);
  const load = {
    store: { ...loadStore, settledPosition: joinCalls(loadStore.settledPosition) },
    stream: { facts: joinCalls(() => stream.facts()) },
    now,
  };
  serveAccounts(bus, { load, store: createAccountStore(pool), inForce, now });
  serveLedger(bus, { transactions, changes: makeAuditStore(pool) });
  serveRecords(bus, {
    records: createRecordStore(pool),
    hours: makeUsageHoursStore(pool),
    refused: makeRefusedStore(pool),
    now,
    log,
  });
  serveWallets(bus, { store: makeWalletStore(pool), transactions, months, inForce, now });
  servePlans(bus, { store: makePlanStore(pool), now });
  serveSubscriptions(bus, {
    subscriptions: createSubscriptionStore(pool),
    limits: makeLimitsStore(pool),
    inForce,
    now,
  });
  serveAlerts(bus, makeAlertStore(pool));
  serveWebhooks(bus, { store: makeWebhookStore(pool), deliveries: makeDeliveryStore(pool), privateAllowed });
  serveFinance(bus, { store: makeFinanceStore(pool), now });
  serveExports(bus, makeExportStore(pool));
}

/** At the start the database may come later than this process. */
async function untilReached<T>(work: () => Promise<T>, log: Logger, stopping: AbortSignal): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (err) {
      if (stopping.aborted || !isConnectionFault(err)) throw err;
      log.warn({ err }, 'the database cannot be reached yet; trying on');
      const delayMs = nextDelayMs(attempt, RETRY);
      await sleep(delayMs, undefined, { signal: stopping }).catch(() => undefined);
    }
  }
}

/** No transaction of billing waits for anything but its next statement. */
function withIdleLimit(url: string): string {
  const limited = new URL(url);
  limited.searchParams.set('idle_in_transaction_session_timeout', String(IDLE_IN_TRANSACTION_MS));
  return limited.href;
}

interface WorkerParts {
  readonly options: BillingOptions;
  readonly settlePool: Pool;
  readonly locksPool: Pool;
  readonly bus: Bus;
  readonly stream: UsageStream;
  readonly incarnation: string;
  readonly months: Months;
  readonly nudge: () => void;
}

/** Settles what the stream brings, each shard by one replica. */
function startWorker(parts: WorkerParts): UsageWorker {
  const { options, settlePool, locksPool, bus, stream, incarnation, months, nudge } = parts;
  const { log, stopping } = options;
  const worker: UsageWorker = startUsageWorker({
    store: makeSettleStore(settlePool, nudge),
    months,
    announcer: makeAnnouncer(bus, incarnation),
    meter: makeSettleMeter(),
    isInfrastructureFault,
    retryDelayMs: (attempt) => nextDelayMs(attempt, RETRY),
    log,
    stopping,
    locks: makeShardLocks(locksPool, () => worker.lost()),
    consume: (shard, handler) => stream.consume(shard, handler),
  });
  return worker;
}

/**
 * The bus for handlers that read and write the ledger's database: a database that is away, or that cannot store a value of the request,
 * is told as such. Any other fault stays in the log of the bus.
 */
export function withStoreFaults<B extends Pick<Bus, 'serve'>>(bus: B): B {
  const serve: Bus['serve'] = (message, handler, options) =>
    bus.serve(
      message,
      async (body) => {
        try {
          return await handler(body);
        } catch (error) {
          throw storeFaultOf(error);
        }
      },
      options,
    );
  return { ...bus, serve };
}

function storeFaultOf(error: unknown): unknown {
  if (isConnectionFault(error)) return new BusFault('dependency_unavailable', 'the database of billing is away');
  if (isValueFault(error)) return new BusFault('invalid_value', 'the database of billing cannot store a value');
  return error;
}
