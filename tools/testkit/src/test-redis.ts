import { borrowServer } from './borrow-server.js';
import { startTestServer, type TestServer } from './start-test-server.js';

/** Logical databases of the shared server. */
const DATABASES = 256;

export interface OwnServer {
  /**
   * Servers that belong to this suite alone: for tests that stop, fill or reconfigure a server, or
   * read what it counts for all its users. Default false.
   */
  readonly own?: boolean | undefined;
}

/** An empty Redis database. */
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
