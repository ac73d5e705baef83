import { timeOfUuidV7 } from '@gateway/contracts/ids';
import { monthOf } from '@gateway/metering';
import type { Months } from '../ledger/months.js';
import type { SettlementStore } from './commit/settlement-store.js';
import type { BatchDecision } from './decide/batch-ledger-rules.js';
import { decideBatch, listBatchBalances } from './decide/decide-rules.js';
import { type PreparedEvents, prepareEvents, buildDeadLetter } from './decide/prepare-rules.js';
import type { DeadLetter, UsageBatch } from './rules.js';

/**
 * Settles a batch (docs/protocol.md#r7): reads the ledger under the locks of the batch's accounts,
 * decides without I/O, and commits. The three steps are one database transaction.
 */
export async function settleBatch(store: SettlementStore, months: Months, batch: UsageBatch): Promise<BatchDecision> {
  const prepared = await withMonths(prepareEvents(batch.received), months);
  const events = { accepted: prepared.accepted, deadLetters: [...prepared.deadLetters, ...batch.deadLetters] };
  return store.commit(async (settlement) => {
    const ledger = await settlement.read({
      accounts: new Set(events.accepted.map(({ record }) => record.account)),
      ids: listIds(events),
      rowsOf: (known) => listBatchBalances(events, known),
    });
    const decision = decideBatch(events, ledger);
    await settlement.write(decision, batch.applied);
    return decision;
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
