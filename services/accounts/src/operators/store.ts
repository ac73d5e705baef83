import { type Tx, inTransaction, onPool, type Pool } from '@gateway/postgres';
import type { OperatorsTx } from '../tx-ports.js';
import { operatorFromRow, type OperatorRow } from '../rows.js';
import type { OperatorSessions } from '../ports.js';

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

type SessionRow = { readonly session_digest: string; readonly seen_at: Date } & (
  (OperatorRow & { readonly operator: string }) | { readonly operator: null }
);

/** Sessions of operators in their table. Every read is one statement, so it sees one instant. */
export function makeOperatorSessions(pool: Pool): OperatorSessions {
  const queries = onPool(pool);
  return {
    create: ({ digest, operator, rootDigest, nowMs }, keptMax) =>
      inTransaction(pool, async (tx) => {
        const now = new Date(nowMs);
        // Whoever deletes the operator at this moment is waited for, or waits and ends this session too.
        if (operator !== null && (await tx.one(LOCK_OPERATOR, [operator, now])) === null) return false;
        await tx.execute(INSERT, [digest, operator, rootDigest, now]);
        await tx.execute(SURPLUS, [operator, digest, keptMax - 1]);
        return true;
      }),
    async find({ digests, rootDigests, beganAfter, usedAfter, nowMs }) {
      const values = [digests, rootDigests, new Date(beganAfter), new Date(usedAfter), new Date(nowMs)];
      const row = await queries.one<SessionRow>(FIND, values, { name: 'find-operator-session' });
      if (row === null) return null;
      const operator = row.operator === null ? null : operatorFromRow(row);
      return { digest: row.session_digest, seenAt: row.seen_at.getTime(), operator };
    },
    async note(digest, current, nowMs) {
      // Another request with the same cookie may have put it under the current digest already.
      const text = `UPDATE operator_sessions SET digest = $2, seen_at = $3
        WHERE digest = $1 AND (digest = $2 OR NOT EXISTS (SELECT FROM operator_sessions WHERE digest = $2))`;
      await queries.execute(text, [digest, current, new Date(nowMs)]);
    },
    async end(digests) {
      await queries.execute('DELETE FROM operator_sessions WHERE digest = ANY($1)', [digests]);
    },
  };
}

const LOCK_OPERATOR = `SELECT id FROM operators
  WHERE id = $1 AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > $2) FOR NO KEY UPDATE`;
const INSERT = `INSERT INTO operator_sessions (digest, operator, root_digest, created_at, seen_at)
  VALUES ($1, $2, $3, $4, $4)`;
const SURPLUS = `DELETE FROM operator_sessions WHERE digest IN (
    SELECT digest FROM operator_sessions WHERE operator IS NOT DISTINCT FROM $1 AND digest <> $2
     ORDER BY created_at DESC, digest OFFSET $3)`;
const FIND = `SELECT operators.*, held.digest AS session_digest, held.seen_at, held.operator
    FROM operator_sessions held LEFT JOIN operators ON operators.id = held.operator
   WHERE held.digest = ANY($1) AND held.created_at > $3 AND held.seen_at > $4
     AND (held.root_digest = ANY($2)
          OR operators.deleted_at IS NULL AND operators.id IS NOT NULL
             AND (operators.expires_at IS NULL OR operators.expires_at > $5))
   ORDER BY array_position($1, held.digest) LIMIT 1`;
