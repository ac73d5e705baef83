import type { Log } from './log.js';
import type { ClaimedRun, OutboxRow, RunResult } from './outbox-rows.js';

export interface DeliverOptions {
  readonly deliver: (row: OutboxRow) => Promise<void>;
  readonly log: Log;
  /** Bound of one delivery. */
  readonly deliverMs: number;
  readonly retryBaseMs: number;
  readonly retryMaxMs: number;
}

const RETRY_EXPONENT_MAX = 20;

/** Stops at the first row that fails, and before a row that might still be under way when the lease ends. */
export async function deliverInOrder(
  { rows }: ClaimedRun,
  lastBeginMs: number,
  { deliver, log, deliverMs, retryBaseMs, retryMaxMs }: DeliverOptions,
): Promise<RunResult> {
  const delivered: bigint[] = [];
  for (const row of rows) {
    if (performance.now() > lastBeginMs) break;
    try {
      await within(deliver(row), deliverMs);
      delivered.push(row.id);
    } catch (err) {
      const ceilingMs = Math.min(retryMaxMs, retryBaseMs * 2 ** Math.min(row.attempts, RETRY_EXPONENT_MAX));
      const retryInMs = Math.round((ceilingMs * (1 + Math.random())) / 2);
      log.warn(
        { err, topic: row.topic, id: String(row.id), attempts: row.attempts + 1, retryInMs },
        'outbox delivery failed',
      );
      return { delivered, failed: row.id, retryInMs };
    }
  }
  return { delivered, failed: null, retryInMs: 0 };
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not delivered within ${ms} ms`)), ms);
  });
  try {
    await Promise.race([work, overdue]);
  } finally {
    clearTimeout(timer);
  }
}
