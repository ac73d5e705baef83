import type { Tx } from '@gateway/postgres';
import { addMissingAccounts, lockWithLimits } from '../../ledger/accounts-store.js';
import { readBalances } from '../../ledger/store.js';
import { readDatabaseMark } from '../../records/names-store.js';
import type { UsageRecord } from '../../records/rules.js';
import { readRecords } from '../../records/store.js';
import type { Pipeline } from '../commit/pipeline-store.js';
import type { LedgerRead } from '../decide/batch-ledger-rules.js';

/** The part of the ledger that a batch needs. */
export interface LedgerQuery {
  readonly accounts: ReadonlySet<string>;
  readonly ids: readonly string[];
  /** Returns the balances to read, as names by account, from the existing records of the IDs. */
  readonly rowsOf: (known: ReadonlyMap<string, UsageRecord>) => ReadonlyMap<string, ReadonlySet<string>>;
}

/** The read data, and the facts about accounts and database that the commit uses. */
export interface LockedLedger extends LedgerRead {
  readonly accountNumbers: ReadonlyMap<string, number>;
  /** States of the accounts' limits (see `ChargedBatch`). */
  readonly limits: ReadonlyMap<string, string>;
  readonly database: string;
}

/** The connection's database is not yet compared with the stream; the settlement is retried. */
export class UnverifiedDatabaseError extends Error {
  override readonly name = 'UnverifiedDatabase';
}

/**
 * Locks the accounts in sorted order, then reads. The locks come first, so that all later reads see
 * the commit of the previous lock holder.
 * @throws UnverifiedDatabaseError if the database must not be used (docs/protocol.md#r17)
 */
export async function readLedger(
  tx: Tx,
  { accounts, ids, rowsOf }: LedgerQuery,
  mayUse: (database: string) => boolean,
  pipeline: Pipeline,
): Promise<LockedLedger> {
  const names = [...accounts];
  const { locked, known, database } = await pipeline({
    added: async () => (names.length > 0 ? addMissingAccounts(tx, names) : undefined),
    locked: () => lockWithLimits(tx, names),
    known: () => readRecords(tx, ids),
    database: () => readDatabaseMark(tx),
  });
  if (!mayUse(database)) throw new UnverifiedDatabaseError('the database is not yet compared with the stream');
  const { numbers: accountNumbers, versions, limits } = locked;
  return { known, versions, rows: await readBalances(tx, rowsOf(known)), accountNumbers, limits, database };
}
