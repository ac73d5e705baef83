import { nextDelayMs, within, type TimerClock } from '@gateway/service-kit';
import type { Log } from '../pool.js';
import type { ClaimedBatch, OutboxRow, RunResult } from './outbox-rows.js';

export interface DeliverOptions {
  readonly deliver: (row: OutboxRow) => Promise<void>;
  readonly log: Log;
  readonly clock: TimerClock;
  /** Timeout of one delivery. */
  readonly deliverMs: number;
  readonly retryBaseMs: number;
  readonly retryMaxMs: number;
}

/** Delivers rows until one fails or the next might still be running at the lease's end. */
export async function deliverInOrder(
  { rows }: ClaimedBatch,
  lastBeginMs: number,
  { deliver, log, clock, deliverMs, retryBaseMs, retryMaxMs }: DeliverOptions,
): Promise<RunResult> {
  const delivered: bigint[] = [];
  for (const row of rows) {
    if (clock.monotonicMs() > lastBeginMs) break;
    try {
      await within(deliver(row), deliverMs, undefined, clock);
      delivered.push(row.id);
    } catch (err) {
      const retryInMs = nextDelayMs(row.attempts, {
        baseMs: retryBaseMs,
        maxMs: retryMaxMs,
        random: Math.random,
      });
      log.warn(
        { err, topic: row.topic, id: String(row.id), attempts: row.attempts + 1, retryInMs },
        'outbox delivery failed',
      );
      return { delivered, failed: row.id, retryInMs };
    }
  }
  return { delivered, failed: null, retryInMs: 0 };
}
