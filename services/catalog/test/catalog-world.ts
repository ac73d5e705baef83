import { makePrivateKey, publicHalfOf, Secret } from '@gateway/service-kit';
import { startServiceServers } from '@gateway/testkit';
import { CATALOG_FIELDS } from '../src/config.js';
import { startCatalog, type CatalogTimes } from '../src/service.js';

/**
 * Looks at the head often, so that a test does not wait for it; verifies never, so that a test sees
 * what the look does. Edges and admissions speak often.
 */
export const TIMES: CatalogTimes = { checkMs: 50, verifyMs: 3_600_000, mirroredEveryMs: 200 };

interface ReplicaOptions {
  readonly env?: Record<string, string>;
  readonly times?: Partial<CatalogTimes>;
}

export type CatalogWorld = Awaited<ReturnType<typeof startCatalogWorld>>;

/** The servers of the catalog. */
export async function startCatalogWorld() {
  const servers = await startServiceServers({
    service: 'catalog',
    migrations: new URL('../migrations/', import.meta.url),
  });
  return {
    ...servers,
    /** Seals credentials of sources; the service has neither half. */
    sourcePublicKey: publicHalfOf(new Secret(makePrivateKey())),
    /** One more replica of the service. */
    start: ({ env, times }: ReplicaOptions = {}) =>
      servers.startReplica(CATALOG_FIELDS, (context) => startCatalog(context, { ...TIMES, ...times }), env),
  };
}
