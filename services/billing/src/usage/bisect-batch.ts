import type { Balance } from '../ledger/rules.js';
import type { Months } from '../ledger/months.js';
import type { SettlementStore } from './commit/settlement-store.js';
import type { BatchDecision } from './decide/batch-ledger-rules.js';
import { buildDeadLetter } from './decide/prepare-rules.js';
import type { DeadLetter, ReceivedEvent, UsageBatch } from './rules.js';
import { settleBatch } from './settle-batch.js';

export interface BisectDeps {
  readonly store: SettlementStore;
  readonly months: Months;
  /**
   * Returns true for errors of the database as a whole, independent of the data. Such errors never
   * cause dead letters.
   */
  readonly isInfrastructureFault: (error: unknown) => boolean;
  readonly log: { warn(fields: object, text: string): void; error(fields: object, text: string): void };
}

/** Maximum length of the stored database error. */
const DETAIL_CHARS_MAX = 300;

/**
 * Settles the halves of a batch that the database has rejected, and recursively the halves of a
 * rejected half. So only the events that the database rejects by themselves become dead letters.
 * The messages are recorded as applied only after all parts are settled.
 */
export async function bisectBatch(deps: BisectDeps, batch: UsageBatch): Promise<BatchDecision> {
  const decisions = await bisect(deps, batch.received);
  decisions.push(await settleBatch(deps.store, deps.months, { ...batch, received: [] }));
  return decisions.reduce(mergeByKey);
}

async function bisect(deps: BisectDeps, received: readonly ReceivedEvent[]): Promise<BatchDecision[]> {
  const middle = Math.ceil(received.length / 2);
  const halves = [received.slice(0, middle), received.slice(middle)].filter(({ length }) => length > 0);
  const decisions: BatchDecision[] = [];
  for (const half of halves) decisions.push(...(await commitOrBisect(deps, half)));
  return decisions;
}

async function commitOrBisect(deps: BisectDeps, received: readonly ReceivedEvent[]): Promise<BatchDecision[]> {
  const { store, months, isInfrastructureFault, log } = deps;
  try {
    return [await settleBatch(store, months, { received, deadLetters: [], applied: [] })];
  } catch (err) {
    if (isInfrastructureFault(err)) throw err;
    const [first, ...others] = received;
    if (first === undefined || others.length > 0) return bisect(deps, received);
    log.error({ err, requestId: first.event.id }, 'the database rejected an event; it becomes a dead letter');
    return [await settleBatch(store, months, { received: [], deadLetters: [refusedEvent(first, err)], applied: [] })];
  }
}

function refusedEvent(receivedEvent: ReceivedEvent, error: unknown): DeadLetter {
  const text = error instanceof Error ? error.message : String(error);
  return buildDeadLetter(receivedEvent, 'refused_by_database', text.slice(0, DETAIL_CHARS_MAX));
}

/** Merges two decisions into one; the balances of the later one are newer. */
function mergeByKey(earlier: BatchDecision, later: BatchDecision): BatchDecision {
  const rowsAfter = new Map<string, Map<string, Balance>>();
  for (const rows of [earlier.rowsAfter, later.rowsAfter])
    for (const [account, ofAccount] of rows)
      rowsAfter.set(account, new Map([...(rowsAfter.get(account) ?? []), ...ofAccount]));
  return {
    records: [...earlier.records, ...later.records],
    transactions: [...earlier.transactions, ...later.transactions],
    changedRows: [...earlier.changedRows, ...later.changedRows],
    accountVersions: new Map([...earlier.accountVersions, ...later.accountVersions]),
    deadLetters: [...earlier.deadLetters, ...later.deadLetters],
    closed: [...earlier.closed, ...later.closed],
    rowsAfter,
    outcomes: [...earlier.outcomes, ...later.outcomes],
  };
}
