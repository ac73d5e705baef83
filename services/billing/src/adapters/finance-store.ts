import { WALLET_ROW } from '@gateway/metering';
import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import type { FinanceStore, Movement, Spend, StatementFacts } from '../operator-ports.js';
import { timeOf } from './period-rows.js';

export function makeFinanceStore(pool: Pool): FinanceStore {
  const queries = onPool(pool);
  return {
    async balances(asOf) {
      const rows = await queries.query<{ name: string; amount: string }>(
        `SELECT ${CLASS} AS name, sum(entry.amount_nano_usd)::text AS amount
           FROM ledger_entries entry ${asOf === null ? '' : POSTED_BEFORE} GROUP BY 1 ORDER BY 1`,
        asOf === null ? [] : [asOf],
      );
      return rows.map(({ name, amount }) => ({ name, amountNanoUsd: BigInt(amount) }));
    },
    statement: (account, from, to) =>
      inTransaction(pool, (tx) => statement(tx, account, from, to), {
        isolation: 'repeatable read',
        readOnly: true,
      }),
  };
}

/** Ledger accounts of customers are summed over all of them. */
const CLASS = `CASE WHEN entry.ledger_account LIKE 'wallet:%' THEN 'wallet'
                WHEN entry.ledger_account LIKE 'plan:%' THEN 'plan' ELSE entry.ledger_account END`;
const POSTED_BEFORE = `JOIN ledger_transactions head ON head.id = entry.transaction_id AND head.posted_at < ${timeOf('$1')}`;

async function statement(tx: Tx, account: string, from: number, to: number): Promise<StatementFacts | null> {
  const kept = await tx.one<{ kept: boolean }>(`SELECT first_month <= ${timeOf('$1')} AS kept FROM ledger_state`, [
    from,
  ]);
  if (kept?.kept !== true) return null;
  const balance = await readBalance(tx, account);
  const movements = await readMovements(tx, account, from, to);
  const later = sumOf(await readMovements(tx, account, to, null));
  const spends = await readSpends(tx, account, from, to);
  const grouped = (by: SpendRow['by']) =>
    spends.filter((row) => row.by === by).map((row) => ({ ...row, id: row.id ?? '' }));
  return {
    // What the month did not do was done before it or after it: the balance is the sum of all movements.
    openingNanoUsd: balance - later - sumOf(movements),
    closingNanoUsd: balance - later,
    movements,
    usage: spends.find(({ by }) => by === 'all') ?? NO_SPEND,
    byKey: grouped('key'),
    byMember: grouped('member'),
    byModel: grouped('model'),
  };
}

const NO_SPEND: Spend = { calls: 0, chargedNanoUsd: 0n, planNanoUsd: 0n, walletNanoUsd: 0n };

async function readBalance(tx: Tx, account: string): Promise<bigint> {
  const row = await tx.one<{ value: bigint }>('SELECT value FROM standing_rows WHERE account = $1 AND name = $2', [
    account,
    WALLET_ROW,
  ]);
  return row?.value ?? 0n;
}

/** What moved the wallet, by the time inside the ids: [from, to), null: no end. */
async function readMovements(tx: Tx, account: string, from: number, to: number | null): Promise<Movement[]> {
  const rows = await tx.query<{ kind: string; amount: string; transactions: bigint }>(
    `SELECT head.kind, sum(entry.amount_nano_usd)::text AS amount, count(DISTINCT head.id) AS transactions
       FROM ledger_transactions head JOIN ledger_entries entry ON entry.transaction_id = head.id
      WHERE head.account = $1 AND head.id >= uuid_floor($2) AND ($3::bigint IS NULL OR head.id < uuid_floor($3))
        AND entry.ledger_account = 'wallet:' || $1
      GROUP BY 1 ORDER BY 1`,
    [account, from, to],
  );
  return rows.map(({ kind, amount, transactions }) => ({
    kind,
    amountNanoUsd: BigInt(amount),
    transactions: Number(transactions),
  }));
}

interface SpendRow extends Spend {
  readonly by: 'all' | 'key' | 'member' | 'model';
  readonly id: string | null;
}

/** Of settled calls: others cost nothing. */
async function readSpends(tx: Tx, account: string, from: number, to: number): Promise<SpendRow[]> {
  const rows = await tx.query<
    Record<'plan' | 'wallet' | 'charged', string> & Pick<SpendRow, 'by' | 'id'> & { calls: bigint }
  >(
    `SELECT CASE grouping(key_id, member_id, model_id) WHEN 3 THEN 'key' WHEN 5 THEN 'member' WHEN 6 THEN 'model'
              ELSE 'all' END AS by,
            coalesce(key_id, member_id, model_id) AS id, count(*) AS calls, sum(charged_nano_usd)::text AS charged,
            sum(plan_nano_usd)::text AS plan, sum(wallet_nano_usd)::text AS wallet
       FROM usage_records
      WHERE account = $1 AND id >= uuid_floor($2) AND id < uuid_floor($3) AND outcome = 'settled'
      GROUP BY GROUPING SETS ((key_id), (member_id), (model_id), ())
     HAVING count(*) > 0
      ORDER BY by, sum(charged_nano_usd) DESC, id`,
    [account, from, to],
  );
  return rows.map(({ by, id, calls, charged, plan, wallet }) => ({
    by,
    id,
    calls: Number(calls),
    chargedNanoUsd: BigInt(charged),
    planNanoUsd: BigInt(plan),
    walletNanoUsd: BigInt(wallet),
  }));
}

function sumOf(movements: readonly Movement[]): bigint {
  return movements.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
}
