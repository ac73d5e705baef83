import { Redis } from 'ioredis';
import type { RunningServer } from '@gateway/servers';

/**
 * Ways to lose the limit store: emptied while it runs; killed, then back with its data; stopped,
 * then back without any.
 */
export const LOSSES = ['flushed', 'killed', 'replaced'] as const;
export type Loss = (typeof LOSSES)[number];

/**
 * Loses Redis in one of the ways and brings it back on the same port. `whileAway` runs while no
 * Redis answers.
 */
export async function loseLimitStore(
  redis: RunningServer,
  loss: Loss,
  whileAway: () => Promise<unknown>,
): Promise<void> {
  switch (loss) {
    case 'flushed':
      return asAdministrator(redis.url, (store) => store.flushall());
    case 'killed':
      // It writes no file by itself; a Redis of somebody else may.
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
  if (redis.restart === undefined) throw new Error(`Redis from ${redis.source} cannot be restarted from here`);
  await redis.restart(how);
}
