import { connectService } from '@gateway/bus';
import { type ReadyChecks, type RunningService, type ServiceContext, gauge, retry } from '@gateway/service-kit';
import { createBusEdges, ensureHeartbeatStream, connectOtherReplicas, publishLeaving } from './bus/bus-edges.js';
import { createBusJournal, createBusReporters, createBusOwners } from './bus/bus-owners.js';
import { startCatalogMirror } from './bus/bus-catalog.js';
import { RedisClock } from './limit-store/redis-clock.js';
import { RedisLimitStore } from './limit-store/redis-limit-store.js';
import { watchStores } from './back-pressure/store-watch.js';
import { Admission } from './admission.js';
import type { ADMISSION_FIELDS } from './config.js';
import { serveBus, serveCalls } from './bus/serve-bus.js';

/** A running replica. `admission` and `clock` are for tests in the same process. */
export interface StartedAdmission extends RunningService {
  readonly admission: Admission;
  readonly clock: RedisClock;
}

const DRAIN_MS = 5_000;
const RETRY = { baseMs: 100, maxMs: 2_000, random: Math.random };

/**
 * Maximum delay before edges use a starting replica. Until then it could only return faults while
 * another replica would admit.
 */
const CALLS_AFTER_MS_MAX = 2_000;
const CALLS_LOOK_MS = 10;

/**
 * Opens Redis, the bus, the catalog mirror and the handlers. The handlers for calls open when the
 * catalog has arrived and the buckets are open, or after two seconds, so that callers receive a
 * fault that names the missing part.
 */
export async function startAdmission(context: ServiceContext<typeof ADMISSION_FIELDS>): Promise<StartedAdmission> {
  const { config, log, ready, replica, stopping, clock: timers } = context;
  const clock = new RedisClock(config.GATEWAY_CLOCK_OFFSET_MS, timers);
  const limitStore = new RedisLimitStore(config.GATEWAY_REDIS_URL.reveal(), clock, log);
  limitStore.open();
  const bus = await connectService('admission', context);
  const makeStream = (signal: AbortSignal): Promise<void> =>
    retry(() => ensureHeartbeatStream(bus, config.GATEWAY_STREAM_REPLICAS), {
      ...RETRY,
      signal,
      clock: timers,
      failed: (err) => log.warn({ err }, 'the heartbeat stream cannot be created yet; will retry'),
    });
  await makeStream(stopping);
  // After the bus returned with an empty store, the stream must be created again: without it no
  // edge can report its calls.
  const ended = new AbortController();
  bus.onReconnect(() => {
    limitStore.publishRun();
    void makeStream(ended.signal).catch(() => undefined);
  });
  const catalog = startCatalogMirror(bus, log, timers);
  const backPressure = watchStores(limitStore, bus, config.GATEWAY_USAGE_STREAM_BYTES, log, timers);
  const admission = new Admission({
    limitStore,
    clock,
    owners: createBusOwners(bus),
    edges: createBusEdges(bus, log),
    journal: createBusJournal(bus),
    listeners: createBusReporters(bus, replica),
    catalog,
    backPressure,
    log,
    durations: {
      leaseMs: config.GATEWAY_LEASE_MS,
      expiryMs: config.GATEWAY_EXPIRY_MS,
      sweepMs: config.GATEWAY_SWEEP_MS,
    },
    replica,
  });
  const canDecide = addReadyChecks(ready, admission, catalog.view, () => limitStore.problem());
  gauge('gateway_admission_entries_in_flight', 'Entries that wait for a decision', () => admission.inFlight());
  gauge('gateway_admission_buckets_pending', 'Buckets that are not open yet', () => admission.bucketsPending());
  limitStore.setOthers(connectOtherReplicas(bus));
  limitStore.onUse(() => admission.redisInUse());
  admission.start();
  serveBus(bus, admission, log);
  const beganMs = timers.monotonicMs();
  const opening = timers.setTicker(CALLS_LOOK_MS, () => {
    if (!canDecide() && timers.monotonicMs() - beganMs < CALLS_AFTER_MS_MAX) return;
    opening.cancel();
    serveCalls(bus, admission);
  });
  await bus.listening();
  limitStore.publishRun();
  return {
    admission,
    clock,
    async stop() {
      opening.cancel();
      ended.abort();
      publishLeaving(bus, replica);
      backPressure.stop();
      await admission.stop();
      await catalog.stop();
      await bus.drain(DRAIN_MS).catch((err: unknown) => log.warn({ err }, 'the bus was not drained'));
      limitStore.close();
    },
  };
}

/**
 * Adds checks that stay true once they were true: a later fault of a shared server must not remove
 * all replicas at the same time. Returns whether all parts are ready.
 */
function addReadyChecks(
  ready: ReadyChecks,
  admission: Admission,
  view: () => unknown,
  redisProblem: () => string | null,
): () => boolean {
  let opened = false;
  const areBucketsOpen = (): boolean => (opened ||= admission.swept() && admission.bucketsPending() === 0);
  ready.add('catalog', () => view() !== null || 'no catalog has arrived yet');
  ready.add('buckets', () => areBucketsOpen() || (redisProblem() ?? 'the buckets are not open yet'));
  return () => view() !== null && areBucketsOpen();
}
