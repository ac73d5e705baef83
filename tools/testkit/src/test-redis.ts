import { borrowServer } from './borrow-server.js';
import { startTestServer, type TestServer } from './start-test-server.js';

/** Number of logical databases on the shared server. */
const DATABASES = 256;

export interface OwnServer {
  /**
   * Starts a server for this suite alone. Tests need it if they stop, fill or reconfigure the
   * server, or read counters of the whole server. Default false.
   */
  readonly own?: boolean | undefined;
}

/** Returns an empty Redis database. */
export async function startTestRedis({ own = false }: OwnServer = {}): Promise<TestServer> {
  if (own) return startTestServer('redis');
  const borrowed = await borrowServer(
    { server: 'redis', options: { redis: { databases: DATABASES } }, places: DATABASES },
    ({ url, place }) => `${url}/${place}`,
  );
  const { Redis } = await import('ioredis');
  const redis = new Redis(borrowed.server.url);
  await redis.flushdb();
  redis.disconnect();
  return borrowed;
}
