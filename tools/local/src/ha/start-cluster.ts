import { startServers, type RunningServer, type ServerName } from '@gateway/servers';
import type { ServerRestarter } from '../children/restart-servers.js';
import type { Secrets } from '../secrets.js';
import type { SystemOptions } from '../system-options.js';
import { aliveOf, leaderOf, type Between, type Members, type Start } from './members.js';
import { startNats } from './start-nats.js';
import { startPostgres } from './start-postgres.js';
import { startRedis } from './start-redis.js';
import * as topology from './topology.js';

/** The servers of a cluster and their URLs for services. */
export interface Cluster {
  /** The current primary of each kind; its URL and pid change. */
  readonly servers: Record<ServerName, RunningServer>;
  readonly members: Readonly<Record<string, RunningServer>>;
  readonly urls: Readonly<Record<ServerName, string>>;
}

/**
 * Starts PostgreSQL with two standbys, three NATS servers, and Redis with a replica and three
 * Sentinels. After a failure none remains.
 */
export async function startCluster(
  options: SystemOptions,
  secrets: Secrets,
  restarter: ServerRestarter,
): Promise<Cluster> {
  const members: Members = {};
  const between: Between = options.between ?? ((_way, port) => Promise.resolve(port));
  const start: Start = async (name, kind, own) => {
    const started = await startServers([kind], {
      stateDirectory: `${options.stateDirectory}/servers/${name}`,
      durable: options.durable,
      // Ignores server URLs of the environment, which would give all members the same server.
      env: Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^GATEWAY_.*_URL(_FILE)?$/.test(key))),
      log: (line) => {
        if (!line.includes(' skipped: ')) options.log(`  ${name}: ${line}`);
      },
      onExit: (_kind, code) => restarter.ended(name, code),
      ...own,
    });
    Object.assign(members, { [name]: started[kind] });
  };
  try {
    const [postgres, nats, redis] = await Promise.all([
      startPostgres(options.stateDirectory, secrets, { start, members, restarter, between }),
      startNats(secrets, start, between),
      startRedis(options.stateDirectory, secrets, { start, members, restarter, between }),
    ]);
    return {
      members,
      urls: { postgres: postgres.url, nats: nats.url, redis: redis.url },
      servers: {
        postgres: leaderOf(members, topology.POSTGRES_MEMBERS, postgres.leader),
        nats: leaderOf(members, topology.NATS_MEMBERS, () => aliveOf(members, topology.NATS_MEMBERS)),
        redis: leaderOf(members, topology.REDIS_MEMBERS, redis.leader),
      },
    };
  } catch (error) {
    restarter.stop();
    await Promise.all(Object.values(members).map((server) => server.stop()));
    throw error;
  }
}
