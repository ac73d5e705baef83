import { onPool, type Pool } from '@gateway/postgres';
import { createLedgerReader } from '../src/ledger/audit-store.js';
import { auditLedger } from '../src/ledger/audit.js';

/** Returns the audit's differences; empty if the ledger is correct. */
export async function runAudit(pool: Pool): Promise<string[]> {
  const faults: string[] = [];
  await createLedgerReader(pool).snapshot((ledger) =>
    auditLedger(ledger, {
      begin: () => undefined,
      difference: ({ check, subject, expected, found }) =>
        faults.push(`${check}: ${subject}: expected ${expected}; found ${found}`),
    }),
  );
  return faults;
}

/**
 * Returns balances and counters without versions, because these must not depend on the order of
 * events.
 */
export async function readLedgerValues(pool: Pool): Promise<Record<string, string>> {
  const rows = await onPool(pool).query<{ name: string; value: string }>(
    `SELECT account || ' ' || name AS name, value::text FROM balances
     UNION ALL SELECT ledger_account, sum(amount_nano_usd)::text FROM ledger_entries GROUP BY 1
     UNION ALL SELECT 'record ' || id, outcome || ' ' || charged_nano_usd FROM usage_records
     ORDER BY 1`,
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}
