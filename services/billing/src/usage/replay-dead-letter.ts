import { createMonths } from '../ledger/months.js';
import type { ReplayResult, StoredDeadLetter, DeadLetterStore } from './dead-letter-store.js';
import { parseJson, readDelivery, readEvents, type ReadDelivery } from './read-delivery.js';
import { settleBatch } from './settle-batch.js';
import type { SettleStore } from './settle-store.js';

/**
 * Settles a dead letter again, after the cause of its refusal was fixed. It is processed like a
 * delivery: it may settle, be a repetition, or become a dead letter again. Returns null if it does
 * not exist.
 */
export async function replayDeadLetter(
  store: DeadLetterStore,
  contentHash: string,
  actor: string,
): Promise<ReplayResult | null> {
  const row = await store.find(contentHash);
  if (row === null) return null;
  const { received, deadLetters } = read(row);
  let result: ReplayResult | undefined;
  const settling: SettleStore = {
    ensureMonth: (month) => store.ensureMonth(month),
    async settle(request) {
      const { decided, ...rest } = await store.replay(contentHash, actor, request);
      result = rest;
      return decided;
    },
  };
  await settleBatch(settling, createMonths(settling), { received, deadLetters, applied: [] });
  if (result === undefined) throw new Error('a replay has settled nothing');
  return result;
}

/** Reads a dead letter, which is either a whole unreadable message or a single event. */
function read(row: StoredDeadLetter): ReadDelivery {
  const origin = { subject: row.shard, sequence: row.sequence };
  const whole = readDelivery(row.event, origin);
  if (whole.received.length > 0) return whole;
  const event = parseJson(row.event);
  if (event === null) return whole;
  return readEvents([event], origin);
}
