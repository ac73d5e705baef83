import { timeOfUuidV7 } from '@gateway/contracts/ids';
import { monthOf } from '@gateway/metering';
import type { Months } from '../ledger/months.js';
import type { BatchDecision } from './batch-ledger-rules.js';
import { decideBatch, listBatchBalances } from './decide-rules.js';
import { type PreparedEvents, prepareEvents, buildDeadLetter } from './prepare-rules.js';
import type { SettledMessage } from './progress-store.js';
import type { DeadLetter, ReceivedEvent } from './rules.js';
import type { SettleStore } from './settle-store.js';

export interface UsageBatch {
  readonly received: readonly ReceivedEvent[];
  /** Messages or events that could not be read. */
  readonly deadLetters: readonly DeadLetter[];
  /** Messages whose events are all in this batch or already settled. */
  readonly applied: readonly SettledMessage[];
}

/**
 * Settles a batch in one database transaction (docs/protocol.md#r7). First it prepares the events
 * that may become records. Then it reads the ledger under the locks of the accounts, decides, and
 * writes.
 */
export async function settleBatch(store: SettleStore, months: Months, batch: UsageBatch): Promise<BatchDecision> {
  const prepared = await withMonths(prepareEvents(batch.received), months);
  const events = { accepted: prepared.accepted, deadLetters: [...prepared.deadLetters, ...batch.deadLetters] };
  return store.settle({
    accounts: new Set(events.accepted.map(({ record }) => record.account)),
    ids: listIds(events),
    rowsOf: (known) => listBatchBalances(events, known),
    decide: (read) => decideBatch(events, read),
    applied: batch.applied,
  });
}

/** An event whose month the ledger no longer keeps becomes a dead letter (docs/protocol.md#r16). */
async function withMonths({ accepted, deadLetters }: PreparedEvents, months: Months): Promise<PreparedEvents> {
  const kept: PreparedEvents['accepted'][number][] = [];
  const homeless: DeadLetter[] = [];
  for (const event of accepted) {
    const month = findMonth(event.record.id);
    if (month !== null && (await months.has(month))) kept.push(event);
    else
      homeless.push(
        buildDeadLetter(
          event.receivedEvent,
          'no_partition',
          `the ledger does not keep the month of ${event.record.id}`,
        ),
      );
  }
  return { accepted: kept, deadLetters: [...deadLetters, ...homeless] };
}

/** Returns null if the time in the ID is out of range. */
function findMonth(id: string): string | null {
  try {
    return monthOf(timeOfUuidV7(id));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function listIds({ accepted, deadLetters }: PreparedEvents): string[] {
  const ids = new Set(accepted.map(({ record }) => record.id));
  for (const { requestId } of deadLetters) if (requestId !== null) ids.add(requestId);
  return [...ids];
}
