import { type Bus, connectBus, requestServer } from '@gateway/bus';
import { DATABASE_BUCKET } from '@gateway/contracts/messages';
import {
  type Outbox,
  type Pool,
  createPool,
  faultOf,
  isConnectionFault,
  keepTimelines,
  poolConnections,
} from '@gateway/postgres';
import {
  type Logger,
  type OpeningKeys,
  type ReadyChecks,
  type RunningService,
  SingleFlight,
  type TimerClock,
  changeUrl,
  gauge,
  nextDelayMs,
  retry,
} from '@gateway/service-kit';
import { serveAccounts } from './accounts/handlers.js';
import { createLoadStore } from './accounts/load-store.js';
import { createAccountStore } from './accounts/store.js';
import { createUnchangedStore } from './accounts/unchanged-store.js';
import { serveAlerts } from './alerts/handlers.js';
import { createAlertStore } from './alerts/store.js';
import { serveExports } from './exports/handlers.js';
import { createExportStore } from './exports/store.js';
import { serveFinance } from './finance/handlers.js';
import { createFinanceStore } from './finance/store.js';
import { createJobStore } from './jobs/store.js';
import { watchJobs } from './jobs/watch.js';
import { createLedgerReader } from './ledger/audit-store.js';
import { createChangesStore } from './ledger/changes-store.js';
import { serveLedger } from './ledger/handlers.js';
import { type Months, createMonths } from './ledger/months.js';
import { readLedgerState } from './ledger/store.js';
import { createTransactionStore } from './ledger/transactions-store.js';
import { watchLedger } from './ledger/watch.js';
import { startMaintenance } from './maintenance.js';
import { startAdmissionOutbox, startAlertOutboxes, watchOutboxAges, type WebhookTiming } from './outboxes.js';
import { servePlans } from './plans/handlers.js';
import { createPlanStore } from './plans/store.js';
import { serveRecords } from './records/handlers.js';
import { createUsageHoursStore } from './records/hours-store.js';
import { createRefusedStore } from './records/refused-store.js';
import { createRecordStore } from './records/store.js';
import type { SettledPosition, StreamState } from './stream/progress-rules.js';
import { createProgressStore } from './stream/progress-store.js';
import { type UsageStream, createSnapshotPublisher, createUsageStream } from './stream/stream.js';
import { serveSubscriptions } from './subscriptions/handlers.js';
import { createLimitsStore } from './subscriptions/limits-store.js';
import { createRenewalStore } from './subscriptions/renewals-store.js';
import { startRenewals } from './subscriptions/renewals.js';
import { createSubscriptionStore } from './subscriptions/store.js';
import { createKeptPosition } from './recovery/kept-position.js';
import { LedgerGuard, createGuardMetrics } from './recovery/ledger-guard.js';
import { createLostCommitsStore } from './recovery/lost-commits-store.js';
import { createPipelinedPool } from './usage/commit/pipeline-store.js';
import { processLostMessages } from './usage/process-deliveries.js';
import { createSettlementMeter } from './usage/meter.js';
import { createSettlementStore, isInfrastructureFault } from './usage/commit/settlement-store.js';
import { createShardLocks } from './usage/shard-locks-store.js';
import { type UsageWorker, startUsageWorker } from './usage/worker.js';
import { serveWallets } from './wallets/handlers.js';
import { createWalletStore } from './wallets/store.js';
import { createDeliveryStore } from './webhooks/delivery-store.js';
import { serveWebhooks } from './webhooks/handlers.js';
import { createWebhookStore } from './webhooks/store.js';

export interface BillingOptions {
  readonly natsUrl: string;
  readonly postgresUrl: string;
  readonly streamBytesMax: number;
  readonly streamReplicas: number;
  /** Keys that open the webhook secrets. */
  readonly webhookKeys: OpeningKeys;
  /** Allows webhooks on private and loopback addresses. */
  readonly privateAllowed: boolean;
  /** Delays and lease of webhook attempts; the defaults of `outboxes.ts` if absent. */
  readonly webhookTiming?: WebhookTiming;
  /** Poll interval for due subscriptions; default: that of `renewals.ts`. */
  readonly renewalPollMs?: number;
  readonly replica: string;
  readonly log: Logger;
  readonly clock: TimerClock;
  readonly ready: ReadyChecks;
  readonly stopping: AbortSignal;
}

/** Timeout after which the server ends an idle transaction and releases its locks. */
const IDLE_IN_TRANSACTION_MS = 5_000;
/**
 * Connections for settlements: one for each of the four shards, one for the applied messages of the
 * chunk before, and one for messages that are settled again after commits were lost.
 */
const SETTLE_CONNECTIONS_MAX = 6;
/** Connections for all other requests. */
const CONNECTIONS_MAX = 20;
/** One session keeps the shard locks; a new one may start before the old one has ended. */
const LOCK_CONNECTIONS_MAX = 2;
/** Delays between retries after an infrastructure fault. */
const RETRY = { baseMs: 100, maxMs: 2_000, random: Math.random };
const DRAIN_MS = 10_000;

/** Opens the bus, database and stream, and starts the workers and handlers, in this order. */
export async function startBilling(options: BillingOptions): Promise<RunningService> {
  const { log, clock, ready, stopping } = options;
  const opened = { database: false, bus: false };
  // Both checks pass after the first connection: a later fault of a shared server must not make all
  // replicas unready at the same time.
  ready.add('database', () => opened.database || 'not reached yet');
  ready.add('bus', () => opened.bus || 'not connected yet');

  const postgresUrl = withIdleLimit(options.postgresUrl);
  const bus = await connectBus({
    url: options.natsUrl,
    service: 'billing',
    replica: options.replica,
    log,
    clock,
    bucketReplicas: options.streamReplicas,
  });
  opened.bus = true;
  const kept = await keepTimelines(bus.lookUpBucket(DATABASE_BUCKET), log, clock);
  const { timelines } = kept;
  const shared = { applicationName: 'billing', timelines, log, clock };
  const pool = createPool(postgresUrl, { ...shared, max: CONNECTIONS_MAX });
  const settlePool = createPipelinedPool(postgresUrl, { ...shared, max: SETTLE_CONNECTIONS_MAX });
  const lockOptions = { ...shared, applicationName: 'billing shard locks', max: LOCK_CONNECTIONS_MAX };
  const locksPool = createPool(postgresUrl, lockOptions);
  // The database may start later than this process.
  const { ledgerEpoch, consumers } = await retry(() => readLedgerState(pool), {
    ...RETRY,
    signal: stopping,
    mayPass: isConnectionFault,
    failed: (err) => log.warn({ err }, 'the database is not reachable yet; will retry'),
  });
  opened.database = true;
  const settleStore = createSettlementStore(pool);
  const months = createMonths(settleStore);
  await months.makeAhead(clock.nowMs());

  const stream = createUsageStream(bus, options.streamBytesMax, options.streamReplicas, consumers);
  await stream.ensure();

  const settling = {
    months,
    meter: createSettlementMeter(),
    isInfrastructureFault,
    retryDelayMs: (attempt: number) => nextDelayMs(attempt, RETRY),
    log,
    stopping,
  };
  const onRecovered = createGuardMetrics(() => guard);
  const guard = new LedgerGuard(
    {
      store: createLostCommitsStore(pool),
      stream,
      kept: createKeptPosition(bus.lookUpBucket(DATABASE_BUCKET)),
      settle: processLostMessages({ ...settling, store: createSettlementStore(settlePool) }),
      log,
      onRecovered,
    },
    ledgerEpoch,
  );
  guard.start();
  const outbox = startAdmissionOutbox(pool, bus, log, guard);
  const alerts = startAlertOutboxes({ ...options, pool, bus });
  const locks = createShardLocks(locksPool, () => worker.lost());
  const worker: UsageWorker = startUsageWorker({
    ...settling,
    store: createSettlementStore(settlePool, alerts.nudge, guard.isLedger),
    announcer: createSnapshotPublisher(bus, () => guard.ledgerEpoch),
    locks,
    consume: (subject, handler) => stream.consume(subject, handler),
  });
  const maintenance = startMaintenance({
    store: createProgressStore(pool),
    refused: createRefusedStore(pool),
    stream,
    months,
    clock,
    log,
  });
  const watching = watchLedger({ reader: createLedgerReader(pool), log });
  const jobs = watchJobs({ store: createJobStore(pool), log });
  const store = createRenewalStore(pool);
  const renewals = startRenewals({ store, nudge: () => outbox.nudge(), clock, log, pollMs: options.renewalPollMs });
  const ages = watchOutboxAges(pool);
  gauge(
    'gateway_billing_pool_connections',
    'Database connections, and queries that wait for one',
    () => poolConnections([pool, settlePool, locksPool]),
    { label: 'state' },
  );
  serveFeatures({ options, pool, stream, months, inForce: outbox, mayUse: guard.allows }, bus);
  await bus.listening();

  return {
    async stop() {
      await Promise.all([worker.stop(), renewals.stop(), alerts.stop(), guard.stop()]);
      await bus.drain(DRAIN_MS);
      await Promise.all([outbox.stop(), maintenance.stop(), watching.stop(), jobs.stop(), ages.stop()]);
      await Promise.all([kept.stop(), pool.end(), settlePool.end(), locksPool.end()]);
    },
  };
}

interface FeatureParts {
  readonly options: BillingOptions;
  readonly pool: Pool;
  readonly stream: UsageStream;
  readonly months: Months;
  readonly inForce: Pick<Outbox, 'awaitDelivered'>;
  /** Returns true if loads may be served from the database that a connection sees. */
  readonly mayUse: (database: string) => boolean;
}

/** Creates the stores of each feature and registers its handlers on the bus. */
function serveFeatures({ options, pool, stream, months, inForce, mayUse }: FeatureParts, connected: Bus): void {
  const bus = { ...connected, serve: requestServer(connected, { faultOf }) };
  const { clock, log, privateAllowed } = options;
  const now = (): number => clock.nowMs();
  const transactions = createTransactionStore(pool);
  const loadStore = createLoadStore(pool);
  const positions = new SingleFlight<SettledPosition>();
  const state = new SingleFlight<StreamState>();
  const load = {
    store: {
      ...loadStore,
      ...createUnchangedStore(pool),
      settledPosition: () => positions.follow('', loadStore.settledPosition),
    },
    stream: { state: () => state.follow('', () => stream.state()) },
    mayUse,
    now,
  };
  serveAccounts(bus, { load, store: createAccountStore(pool), inForce, now });
  serveLedger(bus, { transactions, changes: createChangesStore(pool) });
  serveRecords(bus, {
    records: createRecordStore(pool),
    hours: createUsageHoursStore(pool),
    refused: createRefusedStore(pool),
    now,
    log,
  });
  serveWallets(bus, { store: createWalletStore(pool), transactions, months, inForce, now });
  servePlans(bus, { store: createPlanStore(pool), now });
  serveSubscriptions(bus, {
    subscriptions: createSubscriptionStore(pool),
    limits: createLimitsStore(pool),
    inForce,
    now,
  });
  serveAlerts(bus, createAlertStore(pool));
  serveWebhooks(bus, { store: createWebhookStore(pool), deliveries: createDeliveryStore(pool), privateAllowed });
  serveFinance(bus, { store: createFinanceStore(pool), now });
  serveExports(bus, createExportStore(pool));
}

/** Limits idle transactions: billing only waits for its next statement within a transaction. */
function withIdleLimit(url: string): string {
  return changeUrl(url, ({ searchParams }) =>
    searchParams.set('idle_in_transaction_session_timeout', String(IDLE_IN_TRANSACTION_MS)),
  );
}
