import { randomBytes } from 'node:crypto';
import { connectService } from '@gateway/bus';
import { edgeTestSource } from '@gateway/contracts/messages';
import { type RunningService, type ServiceContext, gauge, listen, pause } from '@gateway/service-kit';
import { makeBusClient } from './bus/bus-client.js';
import { type CatalogMirror, followCatalog } from './bus/catalog-mirror.js';
import { type EDGE_FIELDS, type EdgeConfig, readDecryptionKeys, readProxy } from './config.js';
import { makeAuthorizer } from './credentials/make-authorizer.js';
import { SharedAuthorizers, watchRefreshes } from './credentials/shared-authorizers.js';
import { TokenConnections } from './credentials/token-http.js';
import { type EdgeComponents, createEdgeComponents } from './edge.js';
import { readHttpLimits } from './http/http-limits.js';
import { makeEdgeRoutes } from './http/routes.js';
import { type HttpServer, makeHttpServer } from './http/serve.js';
import { UnstoredUsage, storeLeftUsage } from './journal/leave-usage.js';
import { UsageSpool } from './journal/usage-spool.js';
import { makeMemoryReader } from './load/watch-load.js';
import { HELD_RESPONSES, REQUEST_BODIES, UNAUTHENTICATED_BODIES } from './memory/held-bytes.js';
import { ThreadedBodyParser } from './parse/body-parser.js';
import type { SourceQuotas } from './quotas/source-quotas.js';
import { SourceTests } from './source-test/test-source.js';
import { isCoolingDown } from './sources/source-order.js';
import { SourceConnections } from './upstream/source-connections.js';

/** The replica's name is cut to this length, so that the edge's ID stays a valid subject token. */
const REPLICA_IN_ID_CHARS_MAX = 48;
/** Concurrent source tests; further ones wait. */
const SOURCE_TESTS_MAX = 8;

export interface RunningEdge extends RunningService {
  /** URL of the public port. */
  readonly url: string;
  readonly port: number;
}

/** Compiled module of the thread that parses large bodies. */
const PARSE_THREAD_URL = new URL('./parse/parse-thread.js', import.meta.url);

/**
 * Creates and connects all components. Resolves when the public port listens.
 * @param parseThreadUrl URL of the thread's compiled module; tests run code that is not compiled
 */
export async function startEdge(
  context: ServiceContext<typeof EDGE_FIELDS>,
  parseThreadUrl: URL = PARSE_THREAD_URL,
): Promise<RunningEdge> {
  const { config, clock, log, ready, replica } = context;
  const bus = await connectService('edge-proxy', context);
  // Each process is a new edge, even with the name of an old replica (docs/protocol.md#r5).
  const edgeId = `${replica.slice(0, REPLICA_IN_ID_CHARS_MAX)}-${randomBytes(4).toString('hex')}`;
  const spool = await openSpool(config, edgeId);
  const rules = { privateAllowed: config.GATEWAY_ALLOW_PRIVATE_SOURCES, proxy: readProxy(config) };
  const sources = new SourceConnections(rules);
  const authorizers = openAuthorizers(context, new TokenConnections(rules));
  const catalog = followCatalog(bus, { keys: readDecryptionKeys(config), authorizers, log });
  const bodies = new ThreadedBodyParser({
    threadUrl: parseThreadUrl,
    onThreadFailed: (err) => log.error({ err }, 'the thread that parses large bodies failed'),
  });
  const busClient = makeBusClient(bus, config.GATEWAY_STORED_RESPONSE_IDS_MAX);
  const memoryShare = makeMemoryReader(config.GATEWAY_SHED_MEMORY_BYTES);
  const verbs = createEdgeComponents(context, { bus, busClient, catalog, sources, bodies, memoryShare }, edgeId);
  const { edge, heartbeats, journal } = verbs;
  const tests = new SourceTests({ edge, edgeId });
  bus.serve(edgeTestSource, ({ source, revision }) => tests.test(source, revision), {
    concurrencyMax: SOURCE_TESTS_MAX,
  });
  const left = spool && storeLeftUsage(spool, journal, log, clock);
  const http = makeHttpServer({
    routes: makeEdgeRoutes(edge),
    limits: readHttpLimits(config),
    clock: edge.clock,
    timers: clock,
    errorContext: edge.settings.errors,
    log,
    onFault: (err, requestId) => log.error({ err, requestId }, 'a request failed with an exception'),
    onConnectionRefused: () => edge.metrics.connectionRefused(),
  });
  declareGauges(verbs, bodies, catalog, config.GATEWAY_STORED_RESPONSE_IDS_MAX);
  ready.add('catalog', () => catalog.ready() || 'the catalog has not been read yet');
  void heartbeats.send();
  const host = config.GATEWAY_HOST;
  const { url, port } = await listen(http.server, { host, port: config.GATEWAY_PORT });
  log.info({ host, port, edge: edgeId }, 'listening');

  return {
    url,
    port,
    stop: async () => {
      // Not awaited: without the stream it does not end.
      void left?.stop();
      await stopEdge(http, verbs, spool, config.GATEWAY_DRAIN_MS);
      await Promise.all([catalog.stop(), sources.close(), bodies.stop()]);
      await bus.drain(STOP_STEP_MS.bus);
    },
  };
}

function openAuthorizers(
  { config, log, clock }: ServiceContext<typeof EDGE_FIELDS>,
  http: TokenConnections,
): SharedAuthorizers {
  const parts = {
    http,
    surroundings: config.GATEWAY_CLOUD_CREDENTIALS,
    env: process.env,
    nowMs: () => clock.nowMs(),
    random: Math.random,
    ended: watchRefreshes(log),
  };
  return new SharedAuthorizers((auth, credential) => makeAuthorizer(auth, credential, parts), parts.nowMs);
}

function openSpool(config: EdgeConfig, edgeId: string): Promise<UsageSpool> | null {
  const directory = config.GATEWAY_USAGE_SPOOL_DIRECTORY;
  return directory === null ? null : UsageSpool.open(directory, edgeId);
}

/** Sources with their own time series. */
const QUOTA_SERIES_MAX = 64;

/** Declares the gauges that are read when the metrics are scraped. */
export function declareGauges(
  { edge, journal, admissionClient, load, quotas }: EdgeComponents,
  bodies: ThreadedBodyParser,
  catalog: CatalogMirror,
  storedResponseIdsMax: number,
): void {
  gauge('gateway_edge_requests_open', 'Calls with a slot or a hold', () => edge.running.size);
  gauge('gateway_edge_shedding', 'Whether new calls are refused for overload', () => (load.shedding === null ? 0 : 1));
  gauge('gateway_edge_large_bodies_waiting', 'Large bodies that are being parsed or wait for it', () => bodies.waiting);
  gauge('gateway_edge_sources', 'Enabled sources by whether they are in cooldown', () => countSourceStates(edge), {
    label: 'state',
  });
  gauge(
    'gateway_edge_quota_used_ratio',
    "Used fraction of a source's fullest quota, over all edges",
    () => computeQuotaUse(quotas),
    { label: 'source' },
  );
  gauge('gateway_edge_unreadable_credentials', 'Sources whose credential no key of this edge can decrypt', () =>
    catalog.unreadable(),
  );
  gauge('gateway_edge_outdated_credentials', 'Sources whose credential only a previous key can decrypt', () =>
    catalog.outdated(),
  );
  const { answers } = edge;
  gauge(
    'gateway_edge_stored_response_ids',
    'IDs of stored responses in the shared store, at most a minute old while IDs are stored',
    () => answers.idsStored,
  );
  gauge('gateway_edge_stored_response_ids_max', 'Limit for stored response IDs', () => storedResponseIdsMax);
  gauge('gateway_edge_unstored_events', 'Usage events that are not stored in the stream', () => journal.unstored);
  gauge(
    'gateway_edge_unstored_event_age_seconds',
    'Age of the oldest unstored event',
    () => journal.oldestAgeMs() / 1000,
  );
  gauge('gateway_edge_admissions_waiting', 'Requests that wait for admission', () => admissionClient.waiting);
  gauge(
    'gateway_edge_buffered_body_bytes',
    'Bytes of request bodies that a source may still need',
    () => REQUEST_BODIES.held,
  );
  gauge(
    'gateway_edge_unauthenticated_body_bytes',
    'Bytes of request bodies whose key admission has not confirmed',
    () => UNAUTHENTICATED_BODIES.held,
  );
  gauge(
    'gateway_edge_held_response_bytes',
    'Bytes of non-streamed responses that are held until they are complete',
    () => HELD_RESPONSES.held,
  );
}

/** Quota use of the sources that this edge uses, at most {@link QUOTA_SERIES_MAX}. */
function computeQuotaUse(quotas: SourceQuotas): [source: string, ratio: number][] {
  const ratios: [string, number][] = [];
  for (const [source, use] of quotas.uses()) {
    const parts = Object.values(use).map((each) => (each === null ? 0 : each.used / each.allowed));
    ratios.push([source, Math.max(...parts)]);
    if (ratios.length === QUOTA_SERIES_MAX) break;
  }
  return ratios;
}

function countSourceStates({
  catalog,
  health,
  clock,
}: EdgeComponents['edge']): [state: 'healthy' | 'cooling', count: number][] {
  const nowMs = clock.nowMs();
  let [healthy, cooling] = [0, 0];
  for (const { id } of catalog.models()) {
    for (const source of catalog.sourcesOf(id)) {
      if (!source.enabled) continue;
      if (isCoolingDown(health.get(source.id), nowMs)) cooling += 1;
      else healthy += 1;
    }
  }
  return [
    ['healthy', healthy],
    ['cooling', cooling],
  ];
}

/**
 * Time limits in milliseconds for the steps of a stop after the running calls have ended. For the
 * journal it is the minimum.
 */
export const STOP_STEP_MS = {
  cutCalls: 2_000,
  connections: 1_000,
  journal: 5_000,
  releases: 1_000,
  quotas: 1_000,
  bus: 3_000,
} as const;
/**
 * The shortest time from the beginning of a drain until idle connections are closed, in
 * milliseconds; at most the drain time. Running requests prolong it: a client may be sending one
 * more, whose response has `connection: close`, so that the client connects to another edge.
 */
const IDLE_CONNECTIONS_MS = 2_000;
/** Interval between two checks whether the calls have ended. */
const IDLE_POLL_MS = 20;

/**
 * Stops the edge. Running calls and their responses may finish within `drainMs`; the rest is cut.
 * Then events, releases and the last heartbeat are sent. Events that the stream does not accept
 * are left in the spool for other edges or, when `drainMs` is over, in the log for an operator.
 * Heartbeats list a call until its event is stored, even after its request was served. The caller
 * closes the adapters.
 */
export async function stopEdge(
  http: HttpServer,
  verbs: EdgeComponents,
  spool: UsageSpool | null,
  drainMs: number,
): Promise<void> {
  const { edge, admissionClient, journal, heartbeats, quotas } = verbs;
  const { running, log } = edge;
  const graceEnd = performance.now() + drainMs;
  const usage = new UnstoredUsage(journal, spool, log);
  http.beginDrain();
  await waitUntil(() => http.connectionsOpen() === 0, Math.min(IDLE_CONNECTIONS_MS, drainMs));
  const isIdle = (): boolean => http.requestsOpen() === 0 && http.answersOpen() === 0;
  if (!(await waitUntil(isIdle, graceEnd - performance.now()))) {
    const open = { requests: http.requestsOpen(), answers: http.answersOpen() };
    log.warn(open, 'drain time is over; running requests are cut');
    running.abortAll('drain');
    await waitUntil(isIdle, STOP_STEP_MS.cutCalls);
  }
  await http.close(STOP_STEP_MS.connections);
  await usage.leave(Math.max(STOP_STEP_MS.journal, graceEnd - performance.now()));
  await waitUntil(() => admissionClient.releasesWaiting === 0, STOP_STEP_MS.releases);
  quotas.stop();
  await waitUntil(() => quotas.size === 0, STOP_STEP_MS.quotas);
  await heartbeats.stop();
  verbs.healthReport.stop();
  admissionClient.stop();
  edge.deadlines.stop();
  verbs.load.stop();
}

/** Resolves to true as soon as `holds` returns true, or to false after `timeoutMs`. */
async function waitUntil(holds: () => boolean, timeoutMs: number): Promise<boolean> {
  const until = performance.now() + timeoutMs;
  while (!holds()) {
    if (performance.now() >= until) return false;
    await pause(IDLE_POLL_MS);
  }
  return true;
}
