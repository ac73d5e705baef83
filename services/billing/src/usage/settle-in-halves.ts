import type { Balance } from '../ledger/rules.js';
import type { BatchDecision } from './batch-ledger-rules.js';
import { buildDeadLetter } from './prepare-rules.js';
import type { DeadLetter, ReceivedEvent } from './rules.js';
import { settleBatch, type UsageBatch } from './settle-batch.js';
import type { SettleStore } from './settle-store.js';
import type { Months } from '../ledger/months.js';

export interface SettleInHalvesDeps {
  readonly store: SettleStore;
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
export async function settleInHalves(deps: SettleInHalvesDeps, batch: UsageBatch): Promise<BatchDecision> {
  const decisions = await settleEach(deps, splitInHalves(batch.received));
  decisions.push(await settleBatch(deps.store, deps.months, { ...batch, received: [] }));
  return decisions.reduce(mergeByKey);
}

type ReceivedEvents = readonly ReceivedEvent[];

async function settleEach(deps: SettleInHalvesDeps, parts: readonly ReceivedEvents[]): Promise<BatchDecision[]> {
  const decisions: BatchDecision[] = [];
  for (const received of parts) decisions.push(...(await settlePart(deps, received)));
  return decisions;
}

async function settlePart(deps: SettleInHalvesDeps, received: ReceivedEvents): Promise<BatchDecision[]> {
  try {
    return [await settleBatch(deps.store, deps.months, { received, deadLetters: [], applied: [] })];
  } catch (err) {
    if (deps.isInfrastructureFault(err)) throw err;
    const [first, ...others] = received;
    return first !== undefined && others.length === 0
      ? [await deadLetters(deps, first, err)]
      : settleEach(deps, splitInHalves(received));
  }
}

function splitInHalves(received: ReceivedEvents): ReceivedEvents[] {
  const middle = Math.ceil(received.length / 2);
  return [received.slice(0, middle), received.slice(middle)].filter(({ length }) => length > 0);
}

function deadLetters(
  { store, months, log }: SettleInHalvesDeps,
  receivedEvent: ReceivedEvent,
  err: unknown,
): Promise<BatchDecision> {
  log.error({ err, requestId: receivedEvent.event.id }, 'the database rejected an event; it becomes a dead letter');
  return settleBatch(store, months, { received: [], deadLetters: [refusedEvent(receivedEvent, err)], applied: [] });
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
