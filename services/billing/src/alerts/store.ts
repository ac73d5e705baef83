import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { lockForTerms } from '../ledger/accounts-store.js';
import { arrayLiteral } from '../ledger/array-literal.js';
import type { AlertStore, SpendCap } from '../webhooks/alert-ports.js';
import { ALERT_COLUMNS, alertFromRow, type AlertRow } from './alerts-store.js';

export function makeAlertStore(pool: Pool): AlertStore {
  const queries = onPool(pool);
  return {
    applyCaps: (account, caps) => inTransaction(pool, (tx) => applyCaps(tx, account, caps)),
    async alerts({ account, before, limit }) {
      const rows = await queries.query<AlertRow>(
        `SELECT ${ALERT_COLUMNS} FROM alerts
          WHERE account = $1 AND ($2::bigint IS NULL OR number < $2) ORDER BY number DESC LIMIT $3`,
        [account, before, limit],
        { name: 'list_alerts' },
      );
      return rows.map((row) => ({ number: row.number, alert: alertFromRow(row) }));
    },
  };
}

async function applyCaps(tx: Tx, account: string, caps: readonly SpendCap[]): Promise<void> {
  await lockForTerms(tx, account);
  const changed = await tx.execute(
    `INSERT INTO spend_caps (account, kind, id, cap_nano_usd, version)
     SELECT DISTINCT ON (kind, id) $1, kind, id, cap_nano_usd, version
       FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[]) AS told (kind, id, cap_nano_usd, version)
      ORDER BY kind, id, version DESC
     ON CONFLICT (account, kind, id) DO UPDATE
       SET cap_nano_usd = excluded.cap_nano_usd, version = excluded.version
       WHERE spend_caps.version < excluded.version`,
    [
      account,
      arrayLiteral(caps.map(({ kind }) => kind)),
      arrayLiteral(caps.map(({ id }) => id)),
      arrayLiteral(caps.map(({ capNanoUsd }) => capNanoUsd)),
      arrayLiteral(caps.map(({ version }) => version)),
    ],
    { name: 'write_caps' },
  );
  if (changed === 0) return;
  await tx.execute('UPDATE accounts SET caps_version = caps_version + 1 WHERE account = $1', [account], {
    name: 'write_caps_version',
  });
}
