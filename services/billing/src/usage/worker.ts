import { SHARDS_TOTAL } from '@gateway/contracts/ids';
import { every } from '@gateway/service-kit';
import { settleDeliveries, type SettleDeps, type UsageDelivery } from './settle-deliveries.js';

/** How often a shard that somebody else works on, or nobody, is tried. */
const POLL_MS = 200;

export interface UsageWorkerDeps extends SettleDeps {
  readonly locks: { hold(shard: number): Promise<boolean>; release(): Promise<void> };
  consume(shard: number, handler: (batch: UsageDelivery[]) => Promise<void>): { stop(): Promise<void> };
}

export interface UsageWorker {
  /** The locks were lost: somebody else may work on the shards already. */
  lost(): void;
  /** Shards that this process works on. */
  shards(): number[];
  stop(): Promise<void>;
}

/** Works on every shard that this process can get, one batch after the other within a shard. */
export function startUsageWorker(deps: UsageWorkerDeps): UsageWorker {
  const consumers = new Map<number, { stop(): Promise<void> }>();
  let stopped = false;

  const poll = async (): Promise<void> => {
    for (let shard = 0; shard < SHARDS_TOTAL && !stopped; shard += 1) {
      if (consumers.has(shard) || !(await deps.locks.hold(shard)) || stopped) continue;
      consumers.set(
        shard,
        deps.consume(shard, (batch) => settleDeliveries(deps, shard, batch)),
      );
    }
  };

  const stopConsumers = async (): Promise<void> => {
    const running = [...consumers.values()];
    consumers.clear();
    await Promise.all(running.map((consumer) => consumer.stop()));
  };

  const polling = every(POLL_MS, poll, {
    atOnce: true,
    failed: (err) => deps.log.warn({ err }, 'no shard could be taken; it is tried again'),
  });
  return {
    lost() {
      deps.log.warn({}, 'the locks of the shards were lost');
      void stopConsumers();
    },
    shards: () => [...consumers.keys()],
    async stop() {
      stopped = true;
      await polling.stop();
      await stopConsumers();
      await deps.locks.release();
    },
  };
}
