import type { Bus } from '@gateway/bus';
import type { Pool } from '@gateway/postgres';
import { nextDelayMs } from '@gateway/service-kit';
import type { Months } from './ledger/months.js';
import type { BillingOptions } from './service.js';
import { makeAnnouncer } from './usage/announcer.js';
import { isInfrastructureFault } from './usage/infrastructure-fault.js';
import { makeSettleMeter } from './usage/settle-meter.js';
import { makeSettleStore } from './usage/settle-store.js';
import { makeShardLocks } from './usage/shard-locks-store.js';
import type { UsageStream } from './usage/stream.js';
import { startUsageWorker, type UsageWorker } from './usage/worker.js';

/** How what a server did not take is tried again. */
export const RETRY = { baseMs: 100, maxMs: 2_000, random: Math.random };

interface WorkerParts {
  readonly options: BillingOptions;
  readonly settlePool: Pool;
  readonly locksPool: Pool;
  readonly bus: Bus;
  readonly stream: UsageStream;
  readonly incarnation: string;
  readonly months: Months;
  readonly tellNow: () => void;
}

/** Settles what the stream brings, each shard by one replica. */
export function startWorker(parts: WorkerParts): UsageWorker {
  const { options, settlePool, locksPool, bus, stream, incarnation, months, tellNow } = parts;
  const { log, stopping } = options;
  const worker: UsageWorker = startUsageWorker({
    store: makeSettleStore(settlePool, tellNow),
    months,
    announcer: makeAnnouncer(bus, incarnation),
    meter: makeSettleMeter(),
    isInfrastructureFault,
    retryDelayMs: (attempt) => nextDelayMs(attempt, RETRY),
    log,
    stopping,
    locks: makeShardLocks(locksPool, () => worker.lost()),
    consume: (shard, handler) => stream.consume(shard, handler),
  });
  return worker;
}
