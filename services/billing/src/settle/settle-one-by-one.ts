import type { BatchDecision } from '../domain/decide-batch.js';
import type { BalanceRow, SetAside, UsageFact } from '../domain/facts.js';
import { setAsideOf } from '../domain/prepare-events.js';
import { settleBatch, type UsageBatch } from './settle-batch.js';
import type { SettleDeps } from './settle-deliveries.js';

/** Characters of the database's refusal that are kept. */
const DETAIL_CHARS_MAX = 300;

/**
 * Settles each event of a batch in a transaction of its own, so that the one that the database refuses is set aside alone and
 * the others go on. The messages count as applied only when all of that is done.
 */
export async function settleOneByOne(deps: SettleDeps, batch: UsageBatch): Promise<BatchDecision> {
  const decisions: BatchDecision[] = [];
  for (const fact of batch.facts) decisions.push(await settleOne(deps, fact));
  decisions.push(await settleBatch(deps.store, deps.months, { ...batch, facts: [] }));
  return decisions.reduce(together);
}

async function settleOne(deps: SettleDeps, fact: UsageFact): Promise<BatchDecision> {
  const { store, months } = deps;
  try {
    return await settleBatch(store, months, { facts: [fact], setAside: [], applied: [] });
  } catch (err) {
    if (deps.isInfrastructureFault(err)) throw err;
    deps.log.error({ err, requestId: fact.event.id }, 'an event was refused by the database and is set aside');
    return settleBatch(store, months, { facts: [], setAside: [refusedEvent(fact, err)], applied: [] });
  }
}

function refusedEvent(fact: UsageFact, error: unknown): SetAside {
  const text = error instanceof Error ? error.message : String(error);
  return setAsideOf(fact, 'refused_by_database', text.slice(0, DETAIL_CHARS_MAX));
}

/** One decision as if both had been one batch; rows of the later one are newer. */
function together(earlier: BatchDecision, later: BatchDecision): BatchDecision {
  const rowsAfter = new Map<string, Map<string, BalanceRow>>();
  for (const rows of [earlier.rowsAfter, later.rowsAfter])
    for (const [account, ofAccount] of rows)
      rowsAfter.set(account, new Map([...(rowsAfter.get(account) ?? []), ...ofAccount]));
  return {
    records: [...earlier.records, ...later.records],
    transactions: [...earlier.transactions, ...later.transactions],
    changedRows: [...earlier.changedRows, ...later.changedRows],
    accountVersions: new Map([...earlier.accountVersions, ...later.accountVersions]),
    setAside: [...earlier.setAside, ...later.setAside],
    closed: [...earlier.closed, ...later.closed],
    rowsAfter,
    outcomes: [...earlier.outcomes, ...later.outcomes],
  };
}
