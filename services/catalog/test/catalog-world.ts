import { makePrivateKey, publicHalfOf, Secret, type TimerClock } from '@gateway/service-kit';
import { startServiceServers, type OwnServer } from '@gateway/testkit';
import { CATALOG_FIELDS } from '../src/config.js';
import { startCatalog, type CatalogTimes } from '../src/service.js';

/**
 * Checks the head often, so that tests do not wait for it. Disables verification, so that tests see
 * only the effect of the check. Replicas report often.
 */
export const TIMES: CatalogTimes = { checkMs: 50, verifyMs: 3_600_000, followedEveryMs: 200 };

interface ReplicaOptions {
  readonly env?: Record<string, string>;
  readonly times?: Partial<CatalogTimes>;
  /** Default: the clock of the servers. */
  readonly clock?: TimerClock;
}

export type CatalogWorld = Awaited<ReturnType<typeof startCatalogWorld>>;

/** Starts the servers of the catalog. */
export async function startCatalogWorld({ own }: OwnServer = {}) {
  const servers = await startServiceServers({
    own,
    service: 'catalog',
    migrations: new URL('../migrations/', import.meta.url),
  });
  return {
    ...servers,
    /** Key that seals credentials of sources. The service has neither half of the pair. */
    sourcePublicKey: publicHalfOf(new Secret(makePrivateKey())),
    /** Starts one more replica of the service. */
    start: ({ env, times, clock = servers.clock }: ReplicaOptions = {}) =>
      servers.startReplica(
        CATALOG_FIELDS,
        (context) => startCatalog({ ...context, clock }, { ...TIMES, ...times }),
        env,
      ),
  };
}
