import { createMonths } from '../ledger/months.js';
import type { EventOutcome } from '../usage/decide/batch-ledger-rules.js';
import { parseJson, readDelivery, type ReadDelivery, readEvents } from '../usage/read/read-deliveries.js';
import { settleBatch } from '../usage/settle-batch.js';
import type { DeadLetterStore, StoredDeadLetter } from './store.js';

/**
 * Settles a dead letter again, after the cause of its refusal was fixed. It is processed like a
 * delivery: it may settle, be a repetition, or become a dead letter again.
 * @returns the outcomes of its events; null if the dead letter does not exist
 */
export async function replayDeadLetter(
  store: DeadLetterStore,
  contentHash: string,
  actor: string,
): Promise<readonly EventOutcome[] | null> {
  const row = await store.find(contentHash);
  if (row === null) return null;
  const { received, deadLetters } = read(row);
  const { ensureMonth } = store;
  const replaying = {
    ensureMonth,
    commit: (work: Parameters<DeadLetterStore['replay']>[2]) => store.replay(contentHash, actor, work),
  };
  const { outcomes } = await settleBatch(replaying, createMonths(store), { received, deadLetters, applied: [] });
  return outcomes;
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
