import { onPool, type Pool } from '@gateway/postgres';

/** What must hold of any ledger (money and failure, Invariants): empty when it does. */
export async function faultsOf(pool: Pool): Promise<string[]> {
  const queries = onPool(pool);
  const faults: string[] = [];
  for (const { text, sql } of CHECKS) {
    const rows = await queries.query<Record<string, unknown>>(sql);
    faults.push(
      ...rows.map(
        (row) =>
          `${text}: ${JSON.stringify(row, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}`,
      ),
    );
  }
  return faults;
}

/** Rows of usage as the records give them; the wallet and the plan as the entries do. */
const REBUILT = `
  SELECT account, 'km:' || key_id || ':' || month AS name, charged_nano_usd AS amount FROM usage_records
  UNION ALL
  SELECT account, 'mm:' || member_id || ':' || month, charged_nano_usd FROM usage_records
  UNION ALL
  SELECT account, format('w:%s:%s:%s', split_part(wi, '/', 1), split_part(wi, '/', 2),
           CASE split_part(wi, '/', 1) WHEN 'session_5h' THEN session_start_ms::text
                                       WHEN 'weekly' THEN week_start_ms::text ELSE subscription_period END),
         CASE split_part(wi, '/', 2) WHEN 'usd' THEN plan_nano_usd ELSE 1 END
    FROM usage_records, unnest(windows) wi WHERE outcome = 'settled'
  UNION ALL
  SELECT account, format('al:%s:%s:%s', allotment, model_id, subscription_period),
         CASE allotment WHEN 'usd' THEN plan_nano_usd ELSE 1 END
    FROM usage_records WHERE outcome = 'settled' AND allotment IS NOT NULL
  UNION ALL
  SELECT substr(ledger_account, 8), 'wallet', amount_nano_usd FROM ledger_entries WHERE ledger_account LIKE 'wallet:%'`;

const CHECKS = [
  {
    text: 'trial balance',
    sql: 'SELECT sum(amount_nano_usd) AS total FROM ledger_entries HAVING sum(amount_nano_usd) <> 0',
  },
  {
    text: 'unbalanced transaction',
    sql: 'SELECT transaction_id FROM ledger_entries GROUP BY 1 HAVING sum(amount_nano_usd) <> 0 OR count(*) < 2',
  },
  {
    text: 'projection',
    sql: `WITH rebuilt AS (SELECT account, name, sum(amount) AS value FROM (${REBUILT}) r GROUP BY 1, 2 HAVING sum(amount) <> 0),
               kept AS (SELECT account, name, value FROM standing_rows WHERE value <> 0)
          SELECT account, name, rebuilt.value AS rebuilt, kept.value AS kept FROM rebuilt FULL JOIN kept USING (account, name)
           WHERE rebuilt.value IS DISTINCT FROM kept.value`,
  },
  {
    text: 'record and its entries',
    sql: `SELECT r.id FROM usage_records r LEFT JOIN LATERAL (
            SELECT coalesce(sum(-e.amount_nano_usd) FILTER (WHERE e.ledger_account LIKE 'wallet:%'), 0) AS wallet,
                   coalesce(sum(-e.amount_nano_usd) FILTER (WHERE e.ledger_account LIKE 'plan:%'), 0) AS plan,
                   coalesce(sum(-e.amount_nano_usd) FILTER (WHERE e.ledger_account = 'cost'), 0) AS cost
              FROM ledger_transactions t JOIN ledger_entries e ON e.transaction_id = t.id WHERE t.request_id = r.id
          ) paid ON true
          WHERE paid.wallet <> r.wallet_nano_usd OR paid.plan <> r.plan_nano_usd OR paid.cost <> coalesce(r.cost_nano_usd, 0)`,
  },
  {
    text: 'version of a row above that of its account',
    sql: 'SELECT account, name FROM standing_rows JOIN accounts USING (account) WHERE standing_rows.version > accounts.version',
  },
];

/** Balances and counters, without versions: what must not depend on the order of events. */
export async function balancesOf(pool: Pool): Promise<Record<string, string>> {
  const rows = await onPool(pool).query<{ name: string; value: string }>(
    `SELECT account || ' ' || name AS name, value::text FROM standing_rows
     UNION ALL SELECT ledger_account, sum(amount_nano_usd)::text FROM ledger_entries GROUP BY 1
     UNION ALL SELECT 'record ' || id, outcome || ' ' || charged_nano_usd FROM usage_records
     ORDER BY 1`,
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}
