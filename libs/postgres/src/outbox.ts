import { every } from '@gateway/service-kit';
import type { Log } from './log.js';
import { deliverInOrder } from './deliver-run.js';
import { deliveryWaits, IN_FORCE_MS } from './delivery-waits.js';
import { outboxRows, type ClaimedRun, type OutboxRow } from './outbox-rows.js';
import { OUTBOX_TABLE } from './outbox-table.js';
import type { Pool } from './pool.js';

export interface OutboxOptions {
  readonly pool: Pool;
  /** OUTBOX_TABLE when absent. */
  readonly table?: string;
  /**
   * Resolves when the row has arrived. May be called again for the same row: receivers must know
   * repeats.
   */
  readonly deliver: (row: OutboxRow) => Promise<void>;
  readonly log: Log;
  /** While it says no, no rows are taken; always yes when absent. */
  readonly mayClaim?: () => boolean;
  /** Keys that this replica delivers at the same time; KEYS_MAX when absent. */
  readonly keysMax?: number;
  /** Rows of one key taken at once; BATCH_MAX when absent. */
  readonly batchMax?: number;
  /** Time between two looks at the table when nobody nudges; POLL_MS when absent. */
  readonly pollMs?: number;
  /** How long taken rows are kept from other replicas; LEASE_MS when absent. */
  readonly leaseMs?: number;
  /** Bound of one delivery, well below the lease; DELIVER_MS when absent. */
  readonly deliverMs?: number;
  /**
   * Delay after the first failure of a row, doubling up to `retryMaxMs`; RETRY_BASE_MS and
   * RETRY_MAX_MS when absent.
   */
  readonly retryBaseMs?: number;
  readonly retryMaxMs?: number;
}

export interface Outbox {
  /** Looks at the table now; for the moment after a commit that wrote to it. Never throws. */
  nudge(): void;
  /**
   * For a command whose change must have arrived before it is answered: delivers its key before all
   * others, and waits until the row of this key whose body has this `change` (a text that names one
   * change of the key) is delivered, by this replica or another. Call it after the commit. True at
   * once when there is no such row any more, so a repeated command can wait again; false after
   * `waitMs` (IN_FORCE_MS when absent): the row stays and is tried on. Never throws.
   */
  awaitDelivered(key: string, change: string, waitMs?: number): Promise<boolean>;
  /** Takes no more rows and waits for the deliveries under way, each within its bound. */
  stop(): Promise<void>;
}

const KEYS_MAX = 16;
const BATCH_MAX = 50;
const POLL_MS = 1_000;
const LEASE_MS = 30_000;
const DELIVER_MS = 10_000;
const RETRY_BASE_MS = 200;
const RETRY_MAX_MS = 30_000;
/**
 * A timer may end a little before its time, and a look before the row is due would leave it to the
 * next poll.
 */
const RETRY_LATER_MS = 5;

/**
 * Delivers what `enqueue` wrote: at least once, the rows of one key in order, different keys side
 * by side. A row is taken by one statement with a lease and deleted by another, so no transaction
 * and no connection is held while `deliver` runs, and several replicas share one table. A row that
 * fails is tried again for ever, later each time, and holds back its key only. What a killed
 * replica had taken is delivered by another one when the lease ends.
 */
export function startOutbox(options: OutboxOptions): Outbox {
  const settings = settingsOf(options);
  const rows = outboxRows(options.pool, options.table ?? OUTBOX_TABLE);
  const waits = deliveryWaits(options.pool, options.table ?? OUTBOX_TABLE);
  const underWay = new Set<Promise<void>>();

  const poll = async (): Promise<void> => {
    const keys = settings.keysMax - underWay.size;
    if (keys <= 0 || options.mayClaim?.() === false) return;
    const begunMs = performance.now();
    const take = async (keysMax: number, ofKeys: readonly string[] | null): Promise<number> => {
      if (keysMax <= 0) return 0;
      const runs = await rows.claim(keysMax, settings.batchMax, settings.leaseMs, ofKeys);
      for (const run of runs) follow(deliverRun(run, begunMs));
      return runs.length;
    };
    // A command that somebody waits for does not queue behind a row of every account.
    const awaited = waits.keys();
    const taken = awaited.length > 0 ? await take(keys, awaited) : 0;
    await take(keys - taken, null);
  };

  const deliver = async (row: OutboxRow): Promise<void> => {
    await options.deliver(row);
    waits.tell(row);
  };

  const deliverRun = async (run: ClaimedRun, begunMs: number): Promise<void> => {
    const result = await deliverInOrder(run, begunMs + settings.leaseMs - settings.deliverMs, {
      ...settings,
      deliver,
      log: options.log,
    });
    await rows.finish(run, result).catch((err: unknown) => {
      options.log.warn({ err }, 'delivered outbox rows could not be deleted; they will be delivered again');
    });
    if (result.failed !== null) setTimeout(nudge, result.retryInMs + RETRY_LATER_MS).unref();
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
    failed: (err) => options.log.warn({ err }, 'the outbox cannot be read; trying on'),
  });
  const nudge = (): void => polling.wake();
  return {
    nudge,
    awaitDelivered(key, change, waitMs = IN_FORCE_MS) {
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
    throw new Error('the lease of an outbox must be twice the bound of a delivery');
  return settings;
}
