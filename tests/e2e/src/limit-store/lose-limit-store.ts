import { Redis } from 'ioredis';
import type { RunningServer } from '@gateway/servers';

/**
 * Ways to lose the limit store: emptied while it runs; killed and restarted with its data; stopped
 * and restarted empty.
 */
export const LOSSES = ['flushed', 'killed', 'replaced'] as const;
export type Loss = (typeof LOSSES)[number];

/** Loses Redis and starts it again on the same port. `whileAway` runs while Redis is down. */
export async function loseLimitStore(
  redis: RunningServer,
  loss: Loss,
  whileAway: () => Promise<unknown>,
): Promise<void> {
  switch (loss) {
    case 'flushed':
      return asAdministrator(redis.url, (store) => store.flushall());
    case 'killed':
      // The local Redis writes no file by itself; another Redis may.
      await asAdministrator(redis.url, (store) => store.save());
      if (redis.pid !== null) process.kill(redis.pid, 'SIGKILL');
      await whileAway();
      return restart(redis, { kill: true });
    case 'replaced':
      await redis.stop();
      await whileAway();
      return restart(redis, { emptyState: true });
  }
}

async function asAdministrator(url: string, work: (store: Redis) => Promise<unknown>): Promise<void> {
  const store = new Redis(url, { maxRetriesPerRequest: 1 });
  try {
    await work(store);
  } finally {
    store.disconnect();
  }
}

async function restart(redis: RunningServer, how: { kill?: boolean; emptyState?: boolean }): Promise<void> {
  if (redis.restart === undefined)
    throw new Error(`Redis from ${redis.source} was not started by this run and cannot be restarted`);
  await redis.restart(how);
}
