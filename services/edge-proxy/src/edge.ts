import type { Bus } from '@gateway/bus';
import { edgeHealth, edgeHeartbeatReply, edgeResyncRequest } from '@gateway/contracts/messages';
import { type ServiceContext, ThrottledLog, type TimerClock, containerMemoryBytes } from '@gateway/service-kit';
import { AdmissionClient } from './admission/admission-client.js';
import { EdgeClock } from './admission/edge-clock.js';
import { EpochTracker } from './admission/epoch-tracker.js';
import { KnownReplicas } from './admission/known-replicas.js';
import { TickEnd } from './admission/tick-batch.js';
import { KnownKeys, UnknownKeys } from './call/admit/key-lookup.js';
import type { EdgeSettings } from './call/call.js';
import { Deadlines } from './call/deadlines.js';
import { type EdgeMetrics, makeEdgeMetrics } from './call/edge-metrics.js';
import { type EDGE_FIELDS, readSettings } from './config.js';
import { ProviderTexts } from './health/provider-texts.js';
import { HealthReport } from './health/publish-health.js';
import { RemoteHealths } from './health/remote-healths.js';
import { SourceHealths } from './health/source-healths.js';
import { RunningCalls } from './heartbeats/running-calls.js';
import { Heartbeats } from './heartbeats/send-heartbeats.js';
import type { EdgeRoutesParts } from './http/routes.js';
import { UsageJournal } from './journal/store-usage.js';
import { LoadWatch, readLoadLimits } from './load/watch-load.js';
import { computeMemoryBounds, setMemoryBounds } from './memory/memory-bounds.js';
import type { BodyParser, BusClient, Catalog, SourceSender } from './ports.js';
import { SourceQuotas } from './quotas/source-quotas.js';
import type { SourceTestParts } from './source-test/test-source.js';
import { StoredIdCache } from './stored-ids/remembered-answers.js';

/** Shortest interval between two log lines for the same source with a private address. */
const REFUSED_SOURCE_LOG_MS = 60_000;
/** The same for a source whose responses report a class or unit without a price. */
const UNPRICED_LOG_MS = 60_000;
/** The same for a failing shared store. */
const STORES_LOG_MS = 60_000;

/** The adapters that the functions of an edge use. */
export interface EdgeAdapters {
  readonly bus: Pick<Bus, 'subscribe' | 'onReconnect'>;
  readonly busClient: BusClient;
  readonly catalog: Catalog & { onChange(listener: () => void): void };
  readonly sources: SourceSender;
  readonly bodies: BodyParser;
  /** Returns the used part of the memory that this process may take (`makeMemoryReader`). */
  readonly memoryShare: () => number;
}

/** Parts of the routes, the source tests and the gauges of an edge. Made once per process. */
export type Edge = EdgeRoutesParts &
  SourceTestParts['edge'] & {
    readonly health: SourceHealths;
    readonly running: RunningCalls;
    readonly answers: StoredIdCache;
    readonly metrics: EdgeMetrics;
    readonly settings: EdgeSettings;
  };

/** The connected components of one edge. */
export interface EdgeComponents {
  readonly edge: Edge;
  readonly admissionClient: AdmissionClient;
  readonly journal: UsageJournal;
  readonly heartbeats: Heartbeats;
  readonly healthReport: HealthReport;
  readonly quotas: SourceQuotas;
  readonly load: LoadWatch;
}

/** Creates the components of an edge and subscribes them to the bus. */
export function createEdgeComponents(
  context: ServiceContext<typeof EDGE_FIELDS>,
  adapters: EdgeAdapters,
  edgeId: string,
): EdgeComponents {
  const { busClient, catalog } = adapters;
  const remote = new RemoteHealths();
  const health = new SourceHealths(() => healthReport.changed(), remote);
  const made = makeEdge(context, adapters, edgeId, health);
  const { clock } = made.edge;
  const healthReport = new HealthReport({
    edge: edgeId,
    bus: busClient,
    catalog,
    healths: health,
    quotas: made.quotas,
    clock,
    timers: context.clock,
  });
  const verbs: EdgeComponents = { ...made, healthReport };
  subscribeToBus(adapters, verbs, edgeId, context.clock);
  adapters.bus.subscribe(edgeHealth, (report) => {
    if (report.edge !== edgeId) remote.record(report, clock.nowMs());
  });
  return verbs;
}

function makeEdge(
  context: ServiceContext<typeof EDGE_FIELDS>,
  { busClient, catalog, sources, bodies, memoryShare }: EdgeAdapters,
  edgeId: string,
  health: SourceHealths,
): Pick<EdgeComponents, 'edge' | 'admissionClient' | 'journal' | 'heartbeats' | 'quotas' | 'load'> {
  const { config, log, clock: timers } = context;
  const monotonicMs = (): number => timers.monotonicMs();
  const metrics = makeEdgeMetrics(catalog);
  const memory = computeMemoryBounds(config, containerMemoryBytes());
  setMemoryBounds(memory);
  const [clock, epochs] = [new EdgeClock(timers), new EpochTracker(monotonicMs)];
  const replicas = new KnownReplicas();
  const [running, tickEnd] = [new RunningCalls(), new TickEnd()];
  const toBus = { edge: edgeId, bus: busClient, timers };
  const journal = new UsageJournal({
    bus: busClient,
    bytesMax: memory.events,
    tickEnd,
    timers,
    random: Math.random,
    onFailedTry: (code) => {
      metrics.storeFailed();
      log.warn({ code }, 'usage events were not stored; will retry');
    },
  });
  const mayAdmit = (): boolean => journal.mayAdmit();
  const admissionClient = new AdmissionClient({ ...toBus, tickEnd, clock, epochs, replicas, mayAdmit });
  const onFailed = (): void => metrics.heartbeatFailed();
  const heartbeats = new Heartbeats({
    ...toBus,
    everyMs: config.GATEWAY_HEARTBEAT_MS,
    clock,
    epochs,
    admissionClient,
    running,
    onFailed,
  });
  const refusedSources = new ThrottledLog(log, 'no connection to a source: private addresses are not allowed', {
    everyMs: REFUSED_SOURCE_LOG_MS,
    nowMs: monotonicMs,
  });
  const load = new LoadWatch({
    limits: readLoadLimits(config),
    memoryShare,
    hasCalls: () => running.size > 0,
    timers,
    log,
  });
  const deadlines = new Deadlines(timers, (err) => log.error({ err }, 'the handler of a deadline failed'));
  const answersLog = new ThrottledLog(log, 'the store of the IDs of stored responses failed', {
    everyMs: STORES_LOG_MS,
    nowMs: monotonicMs,
  });
  const unpricedLog = new ThrottledLog(log, 'a provider served a class or unit without a price', {
    everyMs: UNPRICED_LOG_MS,
    nowMs: monotonicMs,
  });
  const quotasLog = new ThrottledLog(log, 'quota shares were not renewed in time', {
    everyMs: STORES_LOG_MS,
    nowMs: monotonicMs,
  });
  const quotas = new SourceQuotas({
    edge: edgeId,
    store: busClient,
    deadlines,
    clock,
    random: Math.random,
    timers,
    onFailed(reason) {
      metrics.quotaShareFailed();
      quotasLog.warn({ reason }, reason);
    },
    onOverQuota: (source, lack) => metrics.sentOverQuota(source, lack),
  });
  const edge: Edge = {
    settings: readSettings(config, config.GATEWAY_TRACE_RATIO),
    clock,
    deadlines,
    random: Math.random,
    log,
    metrics,
    bus: busClient,
    replicas,
    catalog,
    admissionClient,
    knownKeys: new KnownKeys(),
    unknownKeys: new UnknownKeys(config),
    journal,
    running,
    sources,
    health,
    answers: new StoredIdCache({
      store: busClient,
      deadlines,
      onFailed(what, reason) {
        metrics.answerUnremembered(what);
        answersLog.warn({ what, reason }, what);
      },
    }),
    quotas,
    privateSources: {
      refused(source, reason) {
        metrics.privateSourceRefused();
        refusedSources.warn({ source, reason }, source);
      },
    },
    unpricedServed: {
      found(served) {
        metrics.unpricedServed();
        unpricedLog.warn(served, served.source ?? '');
      },
    },
    providerTexts: new ProviderTexts({ log, monotonicMs }),
    load,
    bodies,
  };
  return { edge, admissionClient, journal, heartbeats, quotas, load };
}

function subscribeToBus(
  { bus, catalog }: EdgeAdapters,
  { edge, heartbeats, journal }: EdgeComponents,
  edgeId: string,
  timers: TimerClock,
): void {
  bus.subscribe(edgeHeartbeatReply, (reply) => heartbeats.onReply(reply), { words: { edge: edgeId } });
  bus.subscribe(edgeResyncRequest, (request) => {
    if (request.stopping === undefined) heartbeats.onResyncRequest(request);
    else edge.replicas.left(request.stopping, timers.monotonicMs());
  });
  catalog.onChange(() => {
    edge.health.renew((source) => catalog.entry(source), edge.clock.nowMs());
    edge.metrics.catalogChanged();
  });
  bus.onReconnect(() => journal.retryNow());
}
