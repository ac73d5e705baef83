import { every, systemClock, type TimerClock } from '@gateway/service-kit';
import { deliverInOrder } from './deliver-run.js';
import { DELIVERY_WAIT_MS, deliveryWaits } from './delivery-waits.js';
import { qualifiedIdentifier } from '../identifier.js';
import { type ClaimedBatch, type OutboxRow, outboxRows } from './outbox-rows.js';
import { OUTBOX_TABLE } from './outbox-table.js';
import type { Log, Pool } from '../pool.js';
import { onPool } from '../tx.js';

export interface OutboxOptions {
  readonly pool: Pool;
  /** Default: OUTBOX_TABLE. */
  readonly table?: string;
  /**
   * Delivers a row and resolves after its arrival. May be called again for the same row, so
   * receivers must recognize repeats.
   */
  readonly deliver: (row: OutboxRow) => Promise<void>;
  readonly log: Log;
  /** Default: the system's clock. */
  readonly clock?: TimerClock;
  /** While it returns false, no rows are claimed. Default: always true. */
  readonly mayClaim?: () => boolean;
  /** Keys that this replica delivers concurrently. Default: KEYS_MAX. */
  readonly keysMax?: number;
  /** Rows of one key claimed at once. Default: BATCH_MAX. */
  readonly batchMax?: number;
  /** Time between two polls without a nudge. Default: POLL_MS. */
  readonly pollMs?: number;
  /** Time for which claimed rows are reserved for this replica. Default: LEASE_MS. */
  readonly leaseMs?: number;
  /** Timeout of one delivery, well below the lease. Default: DELIVER_MS. */
  readonly deliverMs?: number;
  /**
   * Delay after the first failure of a row, doubling up to `retryMaxMs`. Defaults: RETRY_BASE_MS
   * and RETRY_MAX_MS.
   */
  readonly retryBaseMs?: number;
  readonly retryMaxMs?: number;
}

export interface Outbox {
  /** Polls the table now. Call it after a commit that wrote to the table. Never throws. */
  nudge(): void;
  /**
   * For a command that responds only after its change is delivered: delivers its key before all
   * others and waits for the row of this key whose body has this `change` (a text that identifies
   * one change of the key). Any replica may deliver it. Call it after the commit. Returns true at
   * once if the row no longer exists, so that a repeated command can wait again; returns false
   * after `waitMs` (default: DELIVERY_WAIT_MS), and the row is still retried. Never throws.
   */
  awaitDelivered(key: string, change: string, waitMs?: number): Promise<boolean>;
  /** Claims no more rows and waits for the running deliveries, each within its timeout. */
  stop(): Promise<void>;
}

const KEYS_MAX = 16;
const BATCH_MAX = 50;
const POLL_MS = 1_000;
const LEASE_MS = 30_000;
const DELIVER_MS = 10_000;
const RETRY_BASE_MS = 200;
const RETRY_MAX_MS = 30_000;
/** A timer may fire slightly early, and the row would then wait for the next poll. */
const RETRY_LATER_MS = 5;

/**
 * Delivers the messages of `enqueue` at least once: the rows of one key in order, different keys
 * concurrently. One statement claims a row with a lease and another deletes it. Therefore no
 * transaction and no connection is held while `deliver` runs, and several replicas can share one
 * table. A failing row is retried indefinitely with growing delays and blocks only its own key.
 * Another replica delivers the rows of a killed replica after its lease ends.
 */
export function startOutbox(options: OutboxOptions): Outbox {
  const { clock = systemClock } = options;
  const settings = settingsOf(options);
  const rows = outboxRows(options.pool, options.table ?? OUTBOX_TABLE);
  const waits = deliveryWaits(options.pool, options.table ?? OUTBOX_TABLE, clock);
  const underWay = new Set<Promise<void>>();

  const poll = async (): Promise<void> => {
    const keys = settings.keysMax - underWay.size;
    if (keys <= 0 || options.mayClaim?.() === false) return;
    const begunMs = clock.monotonicMs();
    const take = async (keysMax: number, ofKeys: readonly string[] | null): Promise<number> => {
      if (keysMax <= 0) return 0;
      const runs = await rows.claim(keysMax, settings.batchMax, settings.leaseMs, ofKeys);
      for (const run of runs) follow(deliverRun(run, begunMs));
      return runs.length;
    };
    // Awaited rows must not queue behind rows of all other accounts.
    const awaited = waits.keys();
    const taken = awaited.length > 0 ? await take(keys, awaited) : 0;
    await take(keys - taken, null);
  };

  const deliver = async (row: OutboxRow): Promise<void> => {
    await options.deliver(row);
    waits.tell(row);
  };

  const deliverRun = async (run: ClaimedBatch, begunMs: number): Promise<void> => {
    const result = await deliverInOrder(run, begunMs + settings.leaseMs - settings.deliverMs, {
      ...settings,
      deliver,
      log: options.log,
      clock,
    });
    await rows.finish(run, result).catch((err: unknown) => {
      options.log.warn({ err }, 'delivered outbox rows could not be deleted; they will be delivered again');
    });
    if (result.failed !== null) clock.setTimer(result.retryInMs + RETRY_LATER_MS, nudge).unref();
  };

  const follow = (delivery: Promise<void>): void => {
    const followed = delivery.finally(() => {
      underWay.delete(followed);
      nudge();
    });
    underWay.add(followed);
  };

  const polling = every(settings.pollMs, poll, {
    atOnce: true,
    clock,
    failed: (err) => options.log.warn({ err }, 'the outbox cannot be read; will retry'),
  });
  const nudge = (): void => polling.wake();
  return {
    nudge,
    awaitDelivered(key, change, waitMs = clock.timeoutMs(DELIVERY_WAIT_MS)) {
      const delivered = waits.wait(key, change, waitMs);
      nudge();
      return delivered;
    },
    async stop() {
      await polling.stop();
      await Promise.all(underWay);
    },
  };
}

function settingsOf(options: OutboxOptions) {
  const settings = {
    keysMax: options.keysMax ?? KEYS_MAX,
    batchMax: options.batchMax ?? BATCH_MAX,
    pollMs: options.pollMs ?? POLL_MS,
    leaseMs: options.leaseMs ?? LEASE_MS,
    deliverMs: options.deliverMs ?? DELIVER_MS,
    retryBaseMs: options.retryBaseMs ?? RETRY_BASE_MS,
    retryMaxMs: options.retryMaxMs ?? RETRY_MAX_MS,
  };
  if (settings.deliverMs * 2 > settings.leaseMs)
    throw new Error('the lease of an outbox must be twice the timeout of a delivery');
  return settings;
}

/**
 * Returns the age of the oldest row of each outbox table in seconds, 0 for an empty table. Uses the
 * order of ids, which is close enough to the order of time.
 */
export async function outboxAges(pool: Pool, tables: readonly string[]): Promise<[table: string, seconds: number][]> {
  const ages = tables.map((table) => {
    const name = qualifiedIdentifier(table, 'the name of an outbox table');
    return `coalesce((SELECT greatest(0, extract(epoch FROM clock_timestamp() - created_at))
                        FROM ${name} ORDER BY id LIMIT 1), 0)::float8`;
  });
  const row = await onPool(pool).one<{ seconds: number[] }>(`SELECT ARRAY[${ages.join(', ')}]::float8[] AS seconds`);
  return tables.map((table, index) => [table, row?.seconds[index] ?? 0]);
}
