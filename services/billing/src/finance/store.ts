import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { timeSql } from '../ledger/sql.js';
import { readBalance } from '../ledger/store.js';
import { type Movement, readMovements, sumLaterMovements, sumMovements } from './movements-store.js';
import { readLines, readSpends, type SpendLine, type Spends, type StatementLinesQuery } from './spends-store.js';

export interface StatementSums extends Spends {
  readonly openingNanoUsd: bigint;
  readonly closingNanoUsd: bigint;
  readonly movements: readonly Movement[];
}

export type FinanceStore = ReturnType<typeof createFinanceStore>;

export function createFinanceStore(pool: Pool) {
  const queries = onPool(pool);
  return {
    /**
     * Sums the entries that were posted before `asOf` (epoch milliseconds; null: all) by class of
     * ledger account, in one snapshot.
     */
    async balances(asOf: number | null): Promise<{ readonly name: string; readonly amountNanoUsd: bigint }[]> {
      const rows = await queries.query<{ name: string; amount: string }>(
        `SELECT ${CLASS} AS name, sum(entry.amount_nano_usd)::text AS amount
           FROM ledger_entries entry ${asOf === null ? '' : POSTED_BEFORE} GROUP BY 1 ORDER BY 1`,
        asOf === null ? [] : [asOf],
      );
      return rows.map(({ name, amount }) => ({ name, amountNanoUsd: BigInt(amount) }));
    },
    /** Reads one snapshot with at most `linesMax` lines per list; null if the month is not kept. */
    statement: (account: string, from: number, to: number, linesMax: number): Promise<StatementSums | null> =>
      inTransaction(pool, (tx) => statement(tx, account, from, to, linesMax), {
        isolation: 'repeatable read',
        readOnly: true,
      }),
    /** Ordered by ID. */
    statementLines: (query: StatementLinesQuery): Promise<SpendLine[]> => readLines(queries, query),
  };
}

/** Sums each class of customer accounts over all customers. */
const CLASS = `CASE WHEN entry.ledger_account LIKE 'wallet:%' THEN 'wallet'
                WHEN entry.ledger_account LIKE 'plan:%' THEN 'plan' ELSE entry.ledger_account END`;
const POSTED_BEFORE = `JOIN ledger_transactions head ON head.id = entry.transaction_id AND head.posted_at < ${timeSql('$1')}`;

async function statement(
  tx: Tx,
  account: string,
  from: number,
  to: number,
  linesMax: number,
): Promise<StatementSums | null> {
  const kept = await tx.one<{ kept: boolean }>(`SELECT first_month <= ${timeSql('$1')} AS kept FROM ledger_state`, [
    from,
  ]);
  if (kept?.kept !== true) return null;
  const balance = await readBalance(tx, account);
  const movements = await readMovements(tx, account, from, to);
  const later = await sumLaterMovements(tx, account, to);
  const spends = await readSpends(tx, { account, from, to }, linesMax);
  return {
    // The balance is the sum of all movements. Subtracting the movements of the month and the later
    // ones gives the opening balance.
    openingNanoUsd: balance - later - sumMovements(movements),
    closingNanoUsd: balance - later,
    movements,
    ...spends,
  };
}
