import { onPool, type Pool } from '@gateway/postgres';
import type { AuditStore } from '../operator-ports.js';

interface ChangeRow {
  id: bigint;
  at: Date;
  actor: string;
  action: string;
  account: string | null;
  object_id: string;
  before: object | null;
  after: object | null;
}

export function makeAuditStore(pool: Pool): AuditStore {
  const queries = onPool(pool);
  return {
    async changes({ account, objectId, before, limit }) {
      const rows = await queries.query<ChangeRow>(
        `SELECT id, at, actor, action, account, object_id, before, after FROM changes
          WHERE ($1::text IS NULL OR account = $1) AND ($2::text IS NULL OR object_id = $2)
            AND ($3::bigint IS NULL OR id < $3)
          ORDER BY id DESC LIMIT $4`,
        [account, objectId, before, limit],
      );
      return rows.map((row) => ({ ...row, number: row.id, objectId: row.object_id }));
    },
  };
}
