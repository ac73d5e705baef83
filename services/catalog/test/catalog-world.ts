import { randomBytes } from 'node:crypto';
import type { Bus } from '@gateway/bus';
import type { ServiceName } from '@gateway/contracts/messages';
import { onPool, type Pool, type Tx } from '@gateway/postgres';
import type { RunningServer } from '@gateway/servers';
import {
  BASE_FIELDS,
  makePrivateKey,
  publicHalfOf,
  ReadyChecks,
  readConfig,
  Secret,
  systemClock,
  type RunningService,
} from '@gateway/service-kit';
import { recordingLog, startTestBus, startTestDatabase, type LogLine } from '@gateway/testkit';
import { CATALOG_FIELDS } from '../src/config.js';
import { startCatalog, type CatalogTimes } from '../src/service.js';

/**
 * Looks at the head often, so that a test does not wait for it; verifies never, so that a test sees what the look does.
 * Edges and admissions speak often.
 */
export const TIMES: CatalogTimes = { checkMs: 50, verifyMs: 3_600_000, mirroredEveryMs: 200 };

/** One replica of the service in this process. */
export interface Replica {
  readonly ready: ReadyChecks;
  readonly log: readonly LogLine[];
  stop(): Promise<void>;
}

export interface CatalogWorld {
  readonly postgres: RunningServer;
  readonly nats: RunningServer;
  /** The database as its administrator. */
  readonly pool: Pool;
  readonly sql: Tx;
  /** Seals credentials of sources; the service has neither half. */
  readonly sourcePublicKey: Secret<Buffer>;
  /** The same database as the service's own role. */
  readonly roleUrl: string;
  connect(service: ServiceName): Promise<Bus>;
  start(options?: { env?: Record<string, string>; times?: Partial<CatalogTimes> }): Promise<Replica>;
  stop(): Promise<void>;
}

/** PostgreSQL with the migrated schema and NATS with the users of all services. */
export async function startCatalogWorld(): Promise<CatalogWorld> {
  const [server, bus] = await Promise.all([
    startTestDatabase({ service: 'catalog', migrations: new URL('../migrations/', import.meta.url) }),
    startTestBus(),
  ]);
  const { admin: pool, url: roleUrl } = await server.database();
  const replicas = new Set<Replica>();

  return {
    postgres: server.postgres,
    nats: bus.nats,
    pool,
    sql: onPool(pool),
    sourcePublicKey: publicHalfOf(new Secret(makePrivateKey())),
    roleUrl,
    connect: (service) => bus.connect(service),
    async start({ env = {}, times = {} } = {}) {
      const config = readConfig(
        { ...BASE_FIELDS, ...CATALOG_FIELDS },
        {
          GATEWAY_NATS_URL: bus.urlFor('catalog'),
          GATEWAY_POSTGRES_URL: roleUrl,
          ...env,
        },
      );
      const log = recordingLog();
      const ready = new ReadyChecks();
      const context = {
        config,
        log,
        clock: systemClock,
        replica: `r${randomBytes(4).toString('hex')}`,
        ready,
        stopping: new AbortController().signal,
      };
      const service: RunningService = await startCatalog(context, { ...TIMES, ...times });
      const replica: Replica = {
        ready,
        log: log.lines,
        async stop() {
          if (replicas.delete(replica)) await service.stop();
        },
      };
      replicas.add(replica);
      return replica;
    },
    async stop() {
      await Promise.all([...replicas].map((replica) => replica.stop()));
      await Promise.all([server.stop(), bus.stop()]);
    },
  };
}
