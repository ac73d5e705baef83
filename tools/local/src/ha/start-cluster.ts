import { startServers, withoutLentServers, type RunningServer } from '@gateway/servers';
import type { Restarter } from '../children/restarter.js';
import type { Secrets } from '../secrets.js';
import type { Servers, SystemOptions } from '../system-options.js';
import { startNats } from './start-nats.js';
import { startPostgres } from './start-postgres.js';
import { startRedis } from './start-redis.js';
import type { ClusterParts, Group } from './topology.js';

/**
 * Starts PostgreSQL with two standbys, three NATS servers, and Redis with a replica and three
 * Sentinels. After a failure none remains.
 */
export async function startCluster(
  { stateDirectory, durable, log, between = (_way, port) => Promise.resolve(port) }: SystemOptions,
  secrets: Secrets,
  restarter: Restarter,
): Promise<Servers> {
  const members: Record<string, RunningServer> = {};
  const start: ClusterParts['start'] = async (name, kind, own) => {
    const started = await startServers([kind], {
      stateDirectory: `${stateDirectory}/servers/${name}`,
      durable,
      // Ignores server URLs of the environment, which would give all members the same server.
      env: withoutLentServers(),
      log: (line) => {
        if (!line.includes(' skipped: ')) log(`  ${name}: ${line}`);
      },
      onExit: (_kind, how) => restarter.ended(name, how),
      ...own,
    });
    Object.assign(members, { [name]: started[kind] });
  };
  const parts: ClusterParts = { stateDirectory, secrets, start, members, restarter, between };
  try {
    const [postgres, nats, redis] = await Promise.all([startPostgres(parts), startNats(parts), startRedis(parts)]);
    return {
      members,
      urls: { postgres: postgres.url, nats: nats.url, redis: redis.url },
      servers: {
        postgres: asServer(postgres, members),
        nats: asServer(nats, members),
        redis: asServer(redis, members),
      },
    };
  } catch (error) {
    restarter.stop();
    await Promise.all(Object.values(members).map((server) => server.stop()));
    throw error;
  }
}

/** Returns a handle for the current primary. Its `stop` ends all servers of the kind. */
function asServer({ leader }: Group, members: Readonly<Record<string, RunningServer>>): RunningServer {
  const first = leader();
  if (first === undefined) throw new Error('no server of this kind has started');
  const now = (): RunningServer => leader() ?? first;
  return {
    name: first.name,
    resolver: first.resolver,
    version: first.version,
    source: first.source,
    get url() {
      return now().url;
    },
    get pid() {
      return now().pid;
    },
    restart: (how) => now().restart?.(how) ?? Promise.resolve(),
    async stop() {
      const all = Object.values(members).filter(({ name }) => name === first.name);
      await Promise.all(all.map((server) => server.stop()));
    },
  };
}
