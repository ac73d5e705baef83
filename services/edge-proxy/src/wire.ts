import { connectBus } from '@gateway/bus';
import type { ErrorContext } from '@gateway/contracts/errors';
import { DEFAULT_KEY_PREFIX } from '@gateway/contracts/ids';
import { edgeReport, edgeVerdict } from '@gateway/contracts/messages';
import { gauge, type RunningService, type ServiceContext } from '@gateway/service-kit';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { makeBusLine } from './adapters/bus-line.js';
import { followCatalog } from './adapters/catalog-mirror.js';
import { SourceLanes } from './adapters/source-lanes.js';
import { AdmissionDesk } from './admission/ask-admission.js';
import { EdgeClock } from './admission/edge-clock.js';
import { GateTokens } from './admission/gate-tokens.js';
import { KnownReplicas } from './admission/known-replicas.js';
import { TurnEnd } from './admission/turn-end.js';
import { RunningCalls } from './beats/running-calls.js';
import { Beats } from './beats/send-beats.js';
import type { Edge, EdgeSettings } from './call/call.js';
import { Deadlines } from './call/deadlines.js';
import { makeEdgeMetrics } from './call/edge-metrics.js';
import { plainBytesKept } from './call/relay-plain.js';
import type { EDGE_FIELDS, EdgeConfig } from './config.js';
import { edgeRoutes } from './http/edge-routes.js';
import { bodyBytesBuffered } from './http/read-body.js';
import { makeHttpServer, type HttpServer } from './http/serve.js';
import { SourceHealths } from './health/source-healths.js';
import { HealthReport } from './health/tell-health.js';
import { MirroredReport } from './health/tell-mirrored.js';
import { UsageJournal } from './journal/store-usage.js';

/** Steps of a stop after the running calls have ended, in milliseconds. */
export const STOP_STEP_MS = {
  cutCalls: 2_000,
  connections: 1_000,
  journal: 5_000,
  releases: 1_000,
  bus: 3_000,
} as const;
/** The name of a replica is cut so that the edge's id stays a subject token. */
const REPLICA_IN_ID_CHARS_MAX = 48;
/** Connections that wait to be accepted: a burst of streams is opened at once. */
const LISTEN_BACKLOG = 4_096;
/** How often a stop looks whether the calls have ended. */
const IDLE_POLL_MS = 20;

export interface RunningEdge extends RunningService {
  /** Where the public port listens. */
  readonly url: string;
  readonly port: number;
}

/** Makes the adapters and joins them with the verbs; resolves when the public port listens. */
export async function startEdge(context: ServiceContext<typeof EDGE_FIELDS>): Promise<RunningEdge> {
  const { config, log, ready, replica } = context;
  const monotonicMs = (): number => performance.now();
  const bus = await connectBus({ url: config.GATEWAY_NATS_URL.reveal(), service: 'edge-proxy', replica, log });
  // A new process is a new edge, also under an old replica's name (money and failure, rule 5).
  const edgeId = `${replica.slice(0, REPLICA_IN_ID_CHARS_MAX)}-${randomBytes(4).toString('hex')}`;
  const metrics = makeEdgeMetrics();
  const line = makeBusLine(bus);
  const clock = new EdgeClock(context.clock);
  const tokens = new GateTokens();
  const replicas = new KnownReplicas();
  const running = new RunningCalls();
  const deadlines = new Deadlines(monotonicMs);
  const sources = new SourceLanes();
  const catalog = followCatalog(bus, config.GATEWAY_CREDENTIALS_KEY, log);
  const turnEnd = new TurnEnd();
  const journal = new UsageJournal({
    bus: line,
    turnEnd,
    monotonicMs,
    random: Math.random,
    onFailedTry: (code) => {
      metrics.storeFailed();
      log.warn({ code }, 'usage events were not stored and are tried again');
    },
  });
  const desk = new AdmissionDesk({
    edge: edgeId,
    bus: line,
    turnEnd,
    clock,
    tokens,
    replicas,
    monotonicMs,
    mayAdmit: () => journal.mayAdmit(),
  });
  const beats = new Beats({
    edge: edgeId,
    everyMs: config.GATEWAY_BEAT_MS,
    bus: line,
    clock,
    tokens,
    desk,
    running,
    monotonicMs,
    onFailed: () => metrics.beatFailed(),
  });
  bus.subscribe(edgeVerdict, (verdict) => beats.verdict(verdict), { words: { edge: edgeId } });
  bus.subscribe(edgeReport, (report) => beats.report(report.tokens));
  const health = new SourceHealths(() => healthReport.changed());
  const healthReport = new HealthReport({ edge: edgeId, bus: line, catalog, healths: health, monotonicMs });
  const mirroredReport = new MirroredReport({ replica: `edge-proxy.${edgeId}`, bus: line, catalog });
  catalog.onChange(() => mirroredReport.tell());
  bus.onReconnect(() => {
    journal.retryNow();
    mirroredReport.tell();
  });

  const edge: Edge = {
    settings: settingsOf(config, context.config.GATEWAY_TRACE_RATIO),
    clock,
    deadlines,
    random: Math.random,
    log,
    metrics,
    bus: line,
    replicas,
    catalog,
    desk,
    journal,
    running,
    sources,
    health,
  };
  const http = makeHttpServer({
    routes: edgeRoutes(edge),
    clock,
    errorContext: edge.settings.errors,
    log,
    onFault: (err, requestId) => log.error({ err, requestId }, 'a request failed inside the edge'),
  });
  declareGauges(running, journal, desk);
  ready.add('catalog', () => catalog.ready() || 'the catalog has not been read yet');
  void beats.beat();
  const port = await listen(http, config.GATEWAY_HOST, config.GATEWAY_PORT);
  log.info({ host: config.GATEWAY_HOST, port, edge: edgeId }, 'listening');

  return {
    url: `http://${config.GATEWAY_HOST === '0.0.0.0' ? '127.0.0.1' : config.GATEWAY_HOST}:${port}`,
    port,
    stop: async () => {
      http.beginDrain();
      const isIdle = (): boolean => running.size === 0 && http.requestsOpen() === 0;
      if (!(await waitUntil(isIdle, config.GATEWAY_DRAIN_MS))) {
        log.warn({ calls: running.size }, 'the grace is over: running calls are cut');
        running.abortAll('drain');
        await waitUntil(isIdle, STOP_STEP_MS.cutCalls);
      }
      await http.close(STOP_STEP_MS.connections);
      const unstored = await journal.idle(STOP_STEP_MS.journal);
      if (unstored > 0) log.error({ unstored }, 'usage events could not be stored before the stop');
      await waitUntil(() => desk.releasesWaiting === 0, STOP_STEP_MS.releases);
      await beats.stop();
      healthReport.stop();
      mirroredReport.stop();
      desk.stop();
      deadlines.stop();
      await Promise.all([catalog.stop(), sources.close()]);
      await bus.drain(STOP_STEP_MS.bus);
    },
  };
}

function settingsOf(config: EdgeConfig, traceRatio: number): EdgeSettings {
  const publicUrl = config.GATEWAY_PUBLIC_URL.replace(/\/+$/, '');
  const errors: ErrorContext = {
    billingLinkUrl: config.GATEWAY_BILLING_LINK_URL ?? config.GATEWAY_DASHBOARD_URL ?? publicUrl,
    chatBaseUrl: `${publicUrl}/v1`,
    messagesBaseUrl: publicUrl,
  };
  return {
    errors,
    keyPrefixes: config.GATEWAY_KEY_PREFIXES ?? [DEFAULT_KEY_PREFIX],
    pepper: config.GATEWAY_KEY_PEPPER,
    messagesEnabled: config.GATEWAY_MESSAGES_ENABLED,
    traceRatio,
    upstreamDeadlineMs: config.GATEWAY_UPSTREAM_DEADLINE_MS,
    readOnMs: config.GATEWAY_READ_ON_MS,
  };
}

function declareGauges(running: RunningCalls, journal: UsageJournal, desk: AdmissionDesk): void {
  gauge('gateway_edge_calls_open', 'Calls that hold a slot or a hold', () => running.size);
  gauge('gateway_edge_events_unstored', 'Usage events that no stream has yet', () => journal.unstored);
  gauge(
    'gateway_edge_event_unstored_age_seconds',
    'Age of the oldest unstored event',
    () => journal.oldestAgeMs() / 1000,
  );
  gauge('gateway_edge_admissions_waiting', 'Questions that wait for admission', () => desk.waiting);
  gauge('gateway_edge_body_bytes_buffered', 'Bytes of request bodies being read', bodyBytesBuffered);
  gauge(
    'gateway_edge_answer_bytes_kept',
    'Bytes of relayed plain answers that are kept for their usage',
    plainBytesKept,
  );
}

async function listen({ server }: HttpServer, host: string, port: number): Promise<number> {
  server.listen({ host, port, backlog: LISTEN_BACKLOG });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** True as soon as `holds`, false after `timeoutMs`. */
async function waitUntil(holds: () => boolean, timeoutMs: number): Promise<boolean> {
  const until = performance.now() + timeoutMs;
  while (!holds()) {
    if (performance.now() >= until) return false;
    await delay(IDLE_POLL_MS);
  }
  return true;
}
