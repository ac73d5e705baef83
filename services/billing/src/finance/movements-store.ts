import type { Tx } from '@gateway/postgres';
import { accountCondition } from '../ledger/sql.js';

export interface Movement {
  readonly kind: string;
  readonly amountNanoUsd: bigint;
  readonly transactions: number;
}

/** Sums the wallet movements by kind; [from, to) are whole hours in epoch milliseconds. */
export async function readMovements(tx: Tx, account: string, from: number, to: number): Promise<Movement[]> {
  const others = await readOthers(tx, account, from, to);
  const settled = await readSettled(tx, account, from, to);
  // Of a settled call the first charge or, where an expired record was there before, its correction
  // has taken the wallet's part.
  const corrections = others.find(({ kind }) => kind === 'usage_correction');
  const usage: Movement = {
    kind: 'usage',
    amountNanoUsd: -settled.walletNanoUsd - (corrections?.amountNanoUsd ?? 0n),
    transactions: settled.walletCalls - (corrections?.transactions ?? 0),
  };
  const movements = usage.transactions === 0 ? others : [...others, usage];
  return movements.sort((one, other) => (one.kind < other.kind ? -1 : 1));
}

/** Sums all wallet movements from this time on. */
export async function sumLaterMovements(tx: Tx, account: string, from: number): Promise<bigint> {
  const others = await readOthers(tx, account, from, null);
  const { walletNanoUsd } = await readSettled(tx, account, from, null);
  // The sum of the settled calls already contains their corrections.
  const entries = others.filter(({ kind }) => kind !== 'usage_correction');
  return sumMovements(entries) - walletNanoUsd;
}

export function sumMovements(movements: readonly Movement[]): bigint {
  return movements.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
}

/**
 * Reads all movements except charges. They are few and have their own indexes. OFFSET 0 forces
 * lookups of the entries by ID.
 */
async function readOthers(tx: Tx, account: string, from: number, to: number | null): Promise<Movement[]> {
  const rows = await tx.query<{ kind: string; amount: string; transactions: bigint }>(
    `SELECT head.kind, sum(entry.amount_nano_usd)::text AS amount, count(DISTINCT head.id) AS transactions
       FROM ledger_transactions head
      CROSS JOIN LATERAL (SELECT amount_nano_usd FROM ledger_entries
                           WHERE transaction_id = head.id AND ledger_account = 'wallet:' || $1 OFFSET 0) entry
      WHERE head.${accountCondition('$1')} AND head.kind <> 'usage'
        AND head.id >= uuid_floor($2) AND ($3::bigint IS NULL OR head.id < uuid_floor($3))
      GROUP BY 1`,
    [account, from, to],
  );
  return rows.map(({ kind, amount, transactions }) => ({
    kind,
    amountNanoUsd: BigInt(amount),
    transactions: Number(transactions),
  }));
}

interface SettledCalls {
  readonly walletNanoUsd: bigint;
  /** Calls that the wallet paid at least in part. */
  readonly walletCalls: number;
}

async function readSettled(tx: Tx, account: string, from: number, to: number | null): Promise<SettledCalls> {
  const row = await tx.one<{ wallet: string; calls: bigint }>(
    `SELECT coalesce(sum(wallet_nano_usd), 0)::text AS wallet, coalesce(sum(wallet_calls), 0)::bigint AS calls
       FROM usage_hours WHERE account = $1 AND hour_ms >= $2 AND ($3::bigint IS NULL OR hour_ms < $3)`,
    [account, from, to],
  );
  return { walletNanoUsd: BigInt(row?.wallet ?? 0), walletCalls: Number(row?.calls ?? 0n) };
}
