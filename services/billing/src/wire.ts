import { connectBus, type Bus } from '@gateway/bus';
import { admissionApply } from '@gateway/contracts/messages';
import { createPool, isConnectionFault, startOutbox, type Outbox, type Pool } from '@gateway/postgres';
import { nextDelayMs, type Clock, type Logger, type ReadyChecks, type RunningService } from '@gateway/service-kit';
import { makeAnnouncer } from './adapters/announcer.js';
import { makeAuditStore } from './adapters/audit-store.js';
import { makeFinanceStore } from './adapters/finance-store.js';
import { readIncarnation } from './adapters/incarnation.js';
import { isInfrastructureFault } from './adapters/infrastructure-fault.js';
import { makeLimitsStore } from './adapters/limits-store.js';
import { makeLoadStore } from './adapters/load-store.js';
import { makePlanStore } from './adapters/plan-store.js';
import { makeProgressStore } from './adapters/progress-store.js';
import { makeSettleStore } from './adapters/settle-store.js';
import { makeShardLocks } from './adapters/shard-locks.js';
import { makeShowStore } from './adapters/show-store.js';
import { makeSubscriptionStore } from './adapters/subscription-store.js';
import { makeUsageStream, type UsageStream } from './adapters/usage-stream.js';
import { makeWalletStore } from './adapters/wallet-store.js';
import { serveRequests } from './doors/requests.js';
import { startUsageWorker, type UsageWorker } from './doors/usage-worker.js';
import { deliverStanding } from './change/deliver-standing.js';
import { joinCalls } from './load/join-calls.js';
import { startKeepingSubscriptions } from './renew/keep-subscriptions.js';
import { makeMonths, type Months } from './settle/ensure-months.js';
import { startKeeping } from './settle/keep-stream.js';
import { makeSettleMeter } from './settle/settle-meter.js';

export interface BillingOptions {
  readonly natsUrl: string;
  readonly postgresUrl: string;
  readonly streamBytesMax: number;
  readonly streamReplicas: number;
  readonly replica: string;
  readonly log: Logger;
  readonly clock: Clock;
  readonly ready: ReadyChecks;
  readonly stopping: AbortSignal;
}

/** Connections for all requests and workers; one more keeps the shard locks. */
const CONNECTIONS_MAX = 20;
const RETRY_BASE_MS = 100;
const RETRY_MAX_MS = 2_000;
/** A command that is not in force yet is told again at least this often. */
const OUTBOX_RETRY_MAX_MS = 2_000;
/** What a killed replica had taken of the outbox is delivered by another one after this time. */
const OUTBOX_LEASE_MS = 5_000;
const OUTBOX_DELIVER_MS = 2_000;
const DRAIN_MS = 10_000;

/** Opens database, bus, stream, workers and doors, in this order. */
export async function startBilling(options: BillingOptions): Promise<RunningService> {
  const { log, clock, ready, stopping } = options;
  const opened = { database: false, bus: false };
  // Both were reached once: a later fault of a shared server must not take every replica out at once.
  ready.add('database', () => opened.database || 'not reached yet');
  ready.add('bus', () => opened.bus || 'not connected yet');

  const pool = createPool(options.postgresUrl, { applicationName: 'billing', max: CONNECTIONS_MAX, log });
  const locksPool = createPool(options.postgresUrl, { applicationName: 'billing shard locks', max: 2, log });
  const incarnation = await untilReached(() => readIncarnation(pool), log, stopping);
  opened.database = true;
  const settleStore = makeSettleStore(pool);
  const months = makeMonths(settleStore);
  await months.makeAhead(clock.nowMs());

  const bus = await connectBus({ url: options.natsUrl, service: 'billing', replica: options.replica, log });
  const stream = makeUsageStream(bus, options.streamBytesMax, options.streamReplicas);
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
  const worker = startWorker({ options, pool, locksPool, bus, stream, incarnation, months });
  const keeping = startKeeping({ store: makeProgressStore(pool), stream, months, clock, log });
  const subscriptions = startKeepingSubscriptions({
    store: makeSubscriptionStore(pool),
    nudge: () => outbox.nudge(),
    ...{ clock, log },
  });
  serveDoors({ bus, pool, stream, months, clock, outbox });

  return {
    async stop() {
      await Promise.all([worker.stop(), subscriptions.stop()]);
      await bus.drain(DRAIN_MS);
      await Promise.all([outbox.stop(), keeping.stop()]);
      await Promise.all([pool.end(), locksPool.end()]);
    },
  };
}

interface WorkerParts {
  readonly options: BillingOptions;
  readonly pool: Pool;
  readonly locksPool: Pool;
  readonly bus: Bus;
  readonly stream: UsageStream;
  readonly incarnation: string;
  readonly months: Months;
}

function startWorker({ options, pool, locksPool, bus, stream, incarnation, months }: WorkerParts): UsageWorker {
  const { log, stopping } = options;
  const worker: UsageWorker = startUsageWorker({
    store: makeSettleStore(pool),
    months,
    announcer: makeAnnouncer(bus, incarnation),
    meter: makeSettleMeter(),
    isInfrastructureFault,
    retryDelayMs: (attempt) =>
      nextDelayMs(attempt, { baseMs: RETRY_BASE_MS, maxMs: RETRY_MAX_MS, random: Math.random }),
    log,
    stopping,
    locks: makeShardLocks(locksPool, () => worker.lost()),
    consume: (shard, handler) => stream.consume(shard, handler),
  });
  return worker;
}

interface DoorParts {
  readonly bus: Bus;
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
    finance: makeFinanceStore(pool),
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
      const delayMs = nextDelayMs(attempt, { baseMs: RETRY_BASE_MS, maxMs: RETRY_MAX_MS, random: Math.random });
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
}
