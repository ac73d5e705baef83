import type { Tx } from '@gateway/postgres';
import type { OperatorsTx } from '../tx-ports.js';
import { operatorFromRow, type OperatorRow } from './rows.js';

/** Operators. */
export function makeOperatorsTx(tx: Tx): OperatorsTx {
  return {
    async insertOperator({ id, name, role, digest, createdBy, expiresAt, command }) {
      const text = `INSERT INTO operators (id, name, role, digest, created_by, expires_at, command)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING *`;
      const row = await tx.one<OperatorRow>(text, [
        id,
        name,
        role,
        digest,
        createdBy,
        expiresAt === null ? null : new Date(expiresAt),
        command,
      ]);
      return row && operatorFromRow(row);
    },
    async operatorOfCommand(command) {
      const row = await tx.one<OperatorRow>('SELECT * FROM operators WHERE command = $1', [command]);
      return row && operatorFromRow(row);
    },
    async lockOperator(id) {
      const text = 'SELECT * FROM operators WHERE id = $1 FOR NO KEY UPDATE';
      const row = await tx.one<OperatorRow & { readonly deleted_at: Date | null }>(text, [id]);
      return row && { operator: operatorFromRow(row), deleted: row.deleted_at !== null };
    },
    async deleteOperator(id) {
      await tx.execute('UPDATE operators SET deleted_at = now() WHERE id = $1', [id]);
      await tx.execute('DELETE FROM operator_sessions WHERE operator = $1', [id]);
    },
  };
}
