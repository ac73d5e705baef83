import type pg from 'pg';

/** Totals for comparing a backup with a restored ledger: whole numbers as texts, by name. */
export type BackupTotals = Readonly<Record<string, string>>;

/** Reads all totals in the open transaction, so that they belong to the same snapshot. */
export async function readFigures(client: pg.ClientBase): Promise<BackupTotals> {
  const { rows } = await client.query<Record<string, string>>(
    `SELECT (SELECT count(*) FROM billing.accounts)::text AS "ledger accounts",
            (SELECT count(*) FROM billing.ledger_transactions)::text AS "ledger transactions",
            (SELECT count(*) FROM billing.ledger_entries)::text AS "ledger entries",
            (SELECT coalesce(sum(value), 0) FROM billing.balances WHERE name = 'wallet')::text AS "wallets, nano-USD",
            (SELECT coalesce(sum(amount_nano_usd), 0) FROM billing.ledger_entries
              WHERE ledger_account LIKE 'wallet:%')::text AS "wallet entries, nano-USD",
            (SELECT count(*) FROM billing.usage_records)::text AS "usage records",
            (SELECT coalesce(sum(charged_nano_usd), 0) FROM billing.usage_records)::text AS "charges, nano-USD",
            (SELECT floor_sequence FROM billing.stream_progress)::text AS "settled messages of the stream",
            (SELECT count(*) FROM accounts.accounts)::text AS "accounts",
            (SELECT count(*) FROM accounts.api_keys)::text AS "API keys",
            (SELECT count(*) FROM catalog.models)::text AS "models"`,
  );
  const [figures] = rows;
  if (figures === undefined) throw new Error('the database returned no totals');
  return figures;
}

/** Returns one sentence for each difference. */
export function compareFigures(expected: BackupTotals, found: BackupTotals): string[] {
  return Object.keys(expected)
    .filter((name) => expected[name] !== found[name])
    .map((name) => `${name}: ${expected[name]} in the backup, ${found[name] ?? 'nothing'} after the restore`);
}
