import { connectService, requestServer } from '@gateway/bus';
import {
  CATALOG_REVISION_EVERY_MS,
  catalogRevisionUsed,
  DATABASE_BUCKET,
  edgeHealth,
} from '@gateway/contracts/messages';
import { createPool, faultOf, keepTimelines, poolConnections } from '@gateway/postgres';
import { counter, gauge, histogram, nextDelayMs, type RunningService, type ServiceContext } from '@gateway/service-kit';
import { serveAliases } from './aliases/handlers.js';
import { serveDocuments } from './documents/handlers.js';
import { serveHealth } from './health/handlers.js';
import { serveModels } from './models/handlers.js';
import { serveObjects } from './objects/handlers.js';
import { serveProposals } from './proposals/handlers.js';
import { createProposalStore } from './proposals/store.js';
import { serveProviders } from './providers/handlers.js';
import { serveSources } from './sources/handlers.js';
import { createCatalogBucket, isStale, publishCatalog } from './publishing/publish-catalog.js';
import { createCatalogStore } from './storage/store.js';
import { createPublicationLease } from './publishing/lease-store.js';
import type { CATALOG_FIELDS } from './config.js';
import { trackReplicas } from './publishing/followers.js';
import { createSourceReports } from './health/source-reports.js';
import { PUBLISHER_TIMES, startPublisher, type PublisherTimes } from './publishing/publisher.js';

const POOL_CONNECTIONS_MAX = 8;
/** Responses wait up to five seconds for the publication. A stop does not wait longer than this. */
const DRAIN_MS = 6_000;
const RETRY_BASE_MS = 40;
const RETRY_MAX_MS = 5_000;
const PUBLICATION_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

const publications = counter('gateway_catalog_publications_total', 'Attempts to publish the catalog', {
  outcome: ['published', 'waited', 'failed'],
});
const seconds = histogram('gateway_catalog_publication_seconds', 'Duration of a publication', PUBLICATION_SECONDS);

export interface CatalogTimes extends PublisherTimes {
  /** Interval at which edges and admission replicas report their revision. */
  readonly followedEveryMs: number;
}
const TIMES: CatalogTimes = { ...PUBLISHER_TIMES, followedEveryMs: CATALOG_REVISION_EVERY_MS };

/** Starts the service: store, publisher, reports of others, then the handlers. */
export async function startCatalog(
  { config, log, clock, replica, ready }: ServiceContext<typeof CATALOG_FIELDS>,
  times: CatalogTimes = TIMES,
): Promise<RunningService> {
  const bus = await connectService('catalog', { config, replica, log, clock });
  const kept = await keepTimelines(bus.lookUpBucket(DATABASE_BUCKET), log, clock);
  const pool = createPool(config.GATEWAY_POSTGRES_URL.reveal(), {
    applicationName: `catalog ${replica}`,
    max: POOL_CONNECTIONS_MAX,
    timelines: kept.timelines,
    log,
    clock,
  });
  const store = createCatalogStore(pool);
  const bucket = createCatalogBucket(bus);
  const lease = createPublicationLease(pool);

  const publisher = startPublisher(
    {
      log,
      publish: () =>
        publishCatalog({
          store,
          bucket,
          lease,
          onOlderDatabase: (revisions) =>
            log.error(revisions, 'the database is older than the published catalog: restored?'),
        }),
      isStale: () => isStale({ store, bucket, lease }),
      onTry(outcome, tookSeconds) {
        publications.of({ outcome }).add();
        if (outcome === 'published') seconds.observe(tookSeconds);
      },
      retryDelayMs: (attempt) =>
        nextDelayMs(attempt, { baseMs: RETRY_BASE_MS, maxMs: RETRY_MAX_MS, random: Math.random }),
    },
    times,
  );
  bus.onReconnect(() => publisher.wake());
  gauge(
    'gateway_catalog_published_revision',
    'Newest revision that this replica published',
    () => publisher.revision() ?? 0,
  );
  gauge(
    'gateway_catalog_pool_connections',
    'Database connections, and queries that wait for one',
    () => poolConnections([pool]),
    { label: 'state' },
  );
  ready.add('catalog', () => publisher.revision() !== null || 'not published yet');

  const followers = trackReplicas({ clock, everyMs: times.followedEveryMs });
  gauge('gateway_catalog_followers', 'Edges and admission replicas that report their catalog revision', () =>
    followers.count(),
  );
  bus.subscribe(catalogRevisionUsed, (message) => followers.receive(message));
  bus.onDisconnect(() => followers.pause());
  bus.onReconnect(() => followers.listen());
  if (bus.connected()) followers.listen();
  const reports = createSourceReports();
  bus.subscribe(edgeHealth, (message) => reports.receive(message, clock.nowMs()));

  const served = { serve: requestServer(bus, { faultOf }) };
  const deps = {
    store,
    announcer: publisher,
    followers,
    privateAllowed: config.GATEWAY_ALLOW_PRIVATE_SOURCES,
    reports,
    nowMs: () => clock.nowMs(),
  };
  serveProviders(served, deps);
  serveModels(served, deps);
  serveSources(served, deps);
  serveAliases(served, deps);
  serveObjects(served, deps);
  serveDocuments(served, deps);
  serveHealth(served, deps);
  serveProposals(served, { proposals: createProposalStore(pool), log, nowMs: deps.nowMs });
  await bus.listening();
  return {
    async stop() {
      // A draining bus receives no reports, so waiting for them would always time out.
      followers.stop();
      await bus.drain(DRAIN_MS);
      await publisher.stop();
      await Promise.all([kept.stop(), pool.end()]);
    },
  };
}
