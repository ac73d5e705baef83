import { connectBus } from '@gateway/bus';
import { edgeTestSource } from '@gateway/contracts/messages';
import { listen, type RunningService, type ServiceContext } from '@gateway/service-kit';
import { randomBytes } from 'node:crypto';
import { ThreadedBodyParser } from './adapters/body-parser.js';
import { makeBusClient } from './adapters/bus-client.js';
import { followCatalog } from './adapters/catalog-mirror.js';
import { SourceConnections } from './adapters/source-connections.js';
import { TokenConnections } from './adapters/token-http.js';
import { openingKeysOf, proxyOf, type EDGE_FIELDS, type EdgeConfig } from './config.js';
import { watchRefreshes } from './credentials/credential-metrics.js';
import { makeAuthorizer } from './credentials/make-authorizer.js';
import { SharedAuthorizers } from './credentials/shared-authorizers.js';
import { declareGauges } from './edge-gauges.js';
import { edgeRoutes } from './http/edge-routes.js';
import { httpLimitsOf } from './http/http-limits.js';
import { makeHttpServer } from './http/serve.js';
import { joinVerbs } from './join-verbs.js';
import { storeLeftUsage } from './journal/store-left-usage.js';
import { UsageSpool } from './journal/usage-spool.js';
import { SourceTests } from './source-test/test-source.js';
import { stopEdge, STOP_STEP_MS } from './stop-edge.js';

/** The name of a replica is cut so that the edge's id stays a subject token. */
const REPLICA_IN_ID_CHARS_MAX = 48;
/** Tests of sources at once; further ones wait. */
const SOURCE_TESTS_MAX = 8;

export interface RunningEdge extends RunningService {
  /** Where the public port listens. */
  readonly url: string;
  readonly port: number;
}

/** The compiled module of the thread that reads large bodies. */
const PARSE_THREAD_URL = new URL('./adapters/parse-thread.js', import.meta.url);

/**
 * Makes the adapters and joins them with the verbs; resolves when the public port listens.
 * @param parseThreadUrl where the compiled module lies, unless it is beside this one
 */
export async function startEdge(
  context: ServiceContext<typeof EDGE_FIELDS>,
  parseThreadUrl: URL = PARSE_THREAD_URL,
): Promise<RunningEdge> {
  const { config, log, ready, replica } = context;
  const bus = await connectBus({
    url: config.GATEWAY_NATS_URL.reveal(),
    service: 'edge-proxy',
    replica,
    log,
    bucketReplicas: config.GATEWAY_STREAM_REPLICAS,
  });
  // A new process is a new edge, also under an old replica's name (docs/protocol.md#r5).
  const edgeId = `${replica.slice(0, REPLICA_IN_ID_CHARS_MAX)}-${randomBytes(4).toString('hex')}`;
  const spool = await openSpool(config, edgeId);
  const rules = { privateAllowed: config.GATEWAY_ALLOW_PRIVATE_SOURCES, proxy: proxyOf(config) };
  const sources = new SourceConnections(rules);
  const authorizers = openAuthorizers(context, new TokenConnections(rules));
  const catalog = followCatalog(bus, { keys: openingKeysOf(config), authorizers, log });
  const bodies = new ThreadedBodyParser({
    threadUrl: parseThreadUrl,
    onThreadFailed: (err) => log.error({ err }, 'the thread that reads large bodies failed'),
  });
  const verbs = joinVerbs(
    context,
    { bus, busClient: makeBusClient(bus, config.GATEWAY_ANSWER_IDS_MAX), catalog, sources, bodies },
    edgeId,
  );
  const { edge, heartbeats, journal } = verbs;
  const tests = new SourceTests({ edge, edgeId });
  bus.serve(edgeTestSource, ({ source }) => tests.test(source), { concurrencyMax: SOURCE_TESTS_MAX });
  if (spool !== null) void storeLeftUsage(spool, journal, log);
  const http = makeHttpServer({
    routes: edgeRoutes(edge),
    limits: httpLimitsOf(config),
    clock: edge.clock,
    errorContext: edge.settings.errors,
    log,
    onFault: (err, requestId) => log.error({ err, requestId }, 'a request failed inside the edge'),
    onConnectionRefused: () => edge.metrics.connectionRefused(),
  });
  declareGauges(verbs, bodies, catalog, config.GATEWAY_ANSWER_IDS_MAX);
  ready.add('catalog', () => catalog.ready() || 'the catalog has not been read yet');
  void heartbeats.send();
  const host = config.GATEWAY_HOST;
  const { url, port } = await listen(http.server, { host, port: config.GATEWAY_PORT });
  log.info({ host, port, edge: edgeId }, 'listening');

  return {
    url,
    port,
    stop: async () => {
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
