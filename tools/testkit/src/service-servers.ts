import { randomBytes } from 'node:crypto';
import type { ServiceName } from '@gateway/contracts/messages';
import { onPool } from '@gateway/postgres';
import { BASE_FIELDS, ReadyChecks, readConfig, systemClock } from '@gateway/service-kit';
import type { ConfigFields, RunningService, ServiceConfig, ServiceContext } from '@gateway/service-kit';
import { recordingLog, silentLog, type LogLine, type RecordingLog } from './logs.js';
import { startTestBus } from './test-bus.js';
import { startTestDatabase, type TestDatabaseOptions } from './test-database.js';

/** A replica of a service in the test's process. */
export interface Replica {
  readonly ready: ReadyChecks;
  readonly log: readonly LogLine[];
  /** Stops the replica. Further calls have no effect. */
  stop(): Promise<void>;
}

interface ServiceServersOptions extends TestDatabaseOptions {
  readonly service: ServiceName;
}

/**
 * Starts PostgreSQL with the migrated schema of a service, and NATS with the users of all services.
 * Tests start replicas on these servers.
 */
export async function startServiceServers(options: ServiceServersOptions) {
  const [server, bus] = await Promise.all([startTestDatabase(options), startTestBus({ own: options.own ?? false })]);
  const database = await server.database();
  const env = { GATEWAY_NATS_URL: bus.urlFor(options.service), GATEWAY_POSTGRES_URL: database.url };
  const replicas = new Set<Replica>();
  return {
    postgres: server.postgres,
    nats: bus.nats,
    database,
    /** Variables with the URLs of these servers, for the environment of a replica. */
    env,
    clock: bus.clock,
    /** Runs queries as the database's superuser. */
    sql: onPool(database.admin),
    connect: bus.connect,
    /**
     * Starts a replica with the URLs of the servers and the variables of `more` in its environment.
     * `log` records its lines.
     */
    async startReplica<S extends ConfigFields>(
      fields: S,
      start: (context: ServiceContext<S>) => Promise<RunningService>,
      more: NodeJS.ProcessEnv = {},
      log: RecordingLog = recordingLog(),
    ): Promise<Replica> {
      const context = serviceContext(fields, { ...env, ...more }, log, undefined, bus.clock);
      const service = await start(context);
      const replica: Replica = {
        ready: context.ready,
        log: log.lines,
        async stop() {
          if (replicas.delete(replica)) await service.stop();
        },
      };
      replicas.add(replica);
      return replica;
    },
    /** Stops the running replicas, then the servers. */
    async stop(): Promise<void> {
      await Promise.all([...replicas].map((replica) => replica.stop()));
      await Promise.all([server.stop(), bus.stop()]);
    },
  };
}

/**
 * Returns the context that `runService` passes to a replica with this environment.
 * @param clock pass the one of the test bus, so that a slow machine does not fail the test
 * @throws ConfigurationError if a variable is missing or invalid
 */
export function serviceContext<S extends ConfigFields>(
  fields: S,
  env: NodeJS.ProcessEnv,
  log: ServiceContext<S>['log'] = silentLog,
  replica = `r${randomBytes(4).toString('hex')}`,
  clock = systemClock,
): ServiceContext<S> {
  return {
    config: readConfig({ ...BASE_FIELDS, ...fields }, env) as ServiceConfig<S>,
    log,
    clock,
    replica,
    ready: new ReadyChecks(),
    stopping: new AbortController().signal,
  };
}
