import { setTimeout as sleep } from 'node:timers/promises';
import { type Bus, connectBus } from '@gateway/bus';
import { admissionApply } from '@gateway/contracts/messages';
import {
  createPool,
  isConnectionFault,
  type Outbox,
  OUTBOX_TABLE,
  outboxAges,
  type Pool,
  poolConnections,
  startOutbox,
} from '@gateway/postgres';
import {
  askedGauge,
  type Clock,
  gauge,
  type Logger,
  nextDelayMs,
  type OpeningKeys,
  type ReadyChecks,
  type RunningService,
} from '@gateway/service-kit';
import { makeLoadStore } from './accounts/load-store.js';
import { makeCloseStore } from './accounts/store.js';
import { ALERT_OUTBOX, WEBHOOK_OUTBOX } from './alerts/alerts-store.js';
import { makeAlertStore } from './alerts/store.js';
import { deliverStanding } from './deliver-standing.js';
import { makeExportStore } from './exports/store.js';
import { makeFinanceStore } from './finance/store.js';
import { joinCalls } from './join-calls.js';
import { makeLedgerReader } from './ledger/audit-store.js';
import { makeAuditStore } from './ledger/changes-store.js';
import { readIncarnation } from './ledger/incarnation.js';
import { makeMonths, type Months } from './ledger/months.js';
import { makeShowStore } from './ledger/transactions-store.js';
import { watchLedger } from './ledger/watch.js';
import { startKeeping } from './maintenance.js';
import { startTelling } from './outboxes.js';
import { makePlanStore } from './plans/store.js';
import { serveInsights } from './records/handlers.js';
import { makeUsageHoursStore } from './records/hours-store.js';
import { makeRefusedStore } from './records/refused-store.js';
import { makeStandingValuesStore } from './records/standing-values.js';
import { serveRequests } from './requests.js';
import { makeLimitsStore } from './subscriptions/limits-store.js';
import { startKeepingSubscriptions } from './subscriptions/renewals.js';
import { makeSubscriptionStore } from './subscriptions/store.js';
import { createPipelinedPool } from './usage/pipelined-pool.js';
import { makeProgressStore } from './usage/progress-store.js';
import { makeSettleStore } from './usage/settle-store.js';
import { makeUsageStream, type UsageStream } from './usage/stream.js';
import { makeWalletStore } from './wallets/store.js';
import { serveAlertRequests } from './webhooks/handlers.js';
import { makeWebhookStore } from './webhooks/store.js';
import { RETRY, startWorker } from './wire-worker.js';
import { withStoreFaults } from './with-store-faults.js';

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
/** A command that is not in force yet is told again at least this often. */
const OUTBOX_RETRY_MAX_MS = 2_000;
/** What a killed replica had taken of the outbox is delivered by another one after this time. */
const OUTBOX_LEASE_MS = 5_000;
const OUTBOX_DELIVER_MS = 2_000;
/** How often the outboxes are looked at for the metrics. */
const OUTBOX_AGE_MS = 5_000;
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

  const outbox = startOutbox({
    pool,
    log,
    retryMaxMs: OUTBOX_RETRY_MAX_MS,
    leaseMs: OUTBOX_LEASE_MS,
    deliverMs: OUTBOX_DELIVER_MS,
    deliver: (row) =>
      deliverStanding(async (standing) => {
        await bus.request(admissionApply, { standing: { incarnation, accounts: [standing] } });
      }, row),
  });
  const telling = startTelling({ options, pool, bus });
  const { tellNow } = telling;
  const worker = startWorker({ options, settlePool, locksPool, bus, stream, incarnation, months, tellNow });
  const refused = makeRefusedStore(pool);
  const keeping = startKeeping({ store: makeProgressStore(pool), stream, months, refused, clock, log });
  const watching = watchLedger({ reader: makeLedgerReader(pool), log });
  const subscriptions = startKeepingSubscriptions({
    store: makeSubscriptionStore(pool),
    nudge: () => outbox.nudge(),
    clock,
    log,
  });
  const ages = declareGauges(pool, [pool, settlePool, locksPool]);
  const served = withStoreFaults(bus);
  serveDoors({ bus: served, pool, stream, months, clock, outbox });
  serveInsights(served, {
    hours: makeUsageHoursStore(pool),
    standing: makeStandingValuesStore(pool),
    refused,
    now: () => clock.nowMs(),
    log,
  });
  serveAlertRequests(served, {
    alerts: makeAlertStore(pool),
    webhooks: { store: makeWebhookStore(pool), privateAllowed: options.privateAllowed },
  });
  await bus.listening();

  return {
    async stop() {
      await Promise.all([worker.stop(), subscriptions.stop(), telling.stop()]);
      await bus.drain(DRAIN_MS);
      await Promise.all([outbox.stop(), keeping.stop(), watching.stop(), ages.stop()]);
      await Promise.all([pool.end(), settlePool.end(), locksPool.end()]);
    },
  };
}

/** What of the database is looked at for the metrics. */
function declareGauges(pool: Pool, pools: readonly Pool[]): { stop(): Promise<void> } {
  gauge(
    'gateway_billing_pool_connections',
    'Database connections, and queries that wait for one',
    () => poolConnections(pools),
    { label: 'state' },
  );
  return askedGauge(
    'gateway_billing_outbox_age_seconds',
    'How long the oldest message of an outbox has waited',
    () => outboxAges(pool, [OUTBOX_TABLE, ALERT_OUTBOX, WEBHOOK_OUTBOX]),
    { label: 'outbox', everyMs: OUTBOX_AGE_MS },
  );
}

interface DoorParts {
  readonly bus: Pick<Bus, 'serve'>;
  readonly pool: Pool;
  readonly stream: UsageStream;
  readonly months: Months;
  readonly clock: Clock;
  readonly outbox: Pick<Outbox, 'awaitDelivered'>;
}

function serveDoors({ bus, pool, stream, months, clock, outbox }: DoorParts): void {
  const now = (): number => clock.nowMs();
  const show = makeShowStore(pool);
  const loadStore = makeLoadStore(pool);
  serveRequests(bus, {
    load: {
      store: { ...loadStore, settledPosition: joinCalls(loadStore.settledPosition) },
      stream: { facts: joinCalls(() => stream.facts()) },
      now,
    },
    fund: { store: makeWalletStore(pool), show, months, inForce: outbox, now },
    limits: { store: makeLimitsStore(pool), inForce: outbox, now },
    subscribe: { store: makeSubscriptionStore(pool), inForce: outbox, now },
    plans: makePlanStore(pool),
    close: { store: makeCloseStore(pool), inForce: outbox, now },
    finance: makeFinanceStore(pool),
    exports: makeExportStore(pool),
    audit: makeAuditStore(pool),
    show,
    now,
  });
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
