import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import type { Operator } from '../base/rules.js';
import { OPERATORS, type Row } from '../base/sql.js';
import type { BaseTx, Changes } from '../base/store.js';

export type OperatorStore = ReturnType<typeof createOperatorReads> &
  Changes<BaseTx & ReturnType<typeof createOperatorWrites>>;

/** Creates the reads of operators who are not deleted. */
export function createOperatorReads(queries: Tx) {
  return {
    /** Returns the operator who has one of the digests and has not expired. */
    async findOperator(digests: readonly string[], nowMs: number): Promise<Operator | null> {
      const text = `SELECT * FROM operators WHERE digest = ANY($1) AND deleted_at IS NULL
          AND (expires_at IS NULL OR expires_at > $2)
        ORDER BY array_position($1, digest) LIMIT 1`;
      const row = await queries.one<Row>(text, [digests, new Date(nowMs)], { name: 'find-operator' });
      return row && OPERATORS.read(row);
    },
    /** Lists operators in the order of creation, after an ID. Null: from the first one. */
    async operators(after: string | null, limit: number): Promise<Operator[]> {
      const text = 'SELECT * FROM operators WHERE deleted_at IS NULL AND id > $1 ORDER BY id LIMIT $2';
      return (await queries.query<Row>(text, [after ?? '', limit])).map((row) => OPERATORS.read(row));
    },
  };
}

/** A new operator. A `command` creates only one. */
export type NewOperator = Omit<Operator, 'createdAt'> & { readonly command: string | null; readonly digest: string };

/** Creates the writes of operators in one transaction. */
export function createOperatorWrites(tx: Tx) {
  return {
    /** Returns null if another operator has the name or the digest. */
    async insertOperator(operator: NewOperator): Promise<Operator | null> {
      const { id, name, role, digest, createdBy, expiresAt, command } = operator;
      const text = `INSERT INTO operators (id, name, role, digest, created_by, expires_at, command)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING *`;
      const expires = expiresAt === null ? null : new Date(expiresAt);
      const row = await tx.one<Row>(text, [id, name, role, digest, createdBy, expires, command]);
      return row && OPERATORS.read(row);
    },
    async operatorOfCommand(command: string): Promise<Operator | null> {
      const row = await tx.one<Row>('SELECT * FROM operators WHERE command = $1', [command]);
      return row && OPERATORS.read(row);
    },
    /** Locks an operator, also a deleted one. */
    async lockOperator(id: string): Promise<{ readonly operator: Operator; readonly deleted: boolean } | null> {
      const text = 'SELECT * FROM operators WHERE id = $1 FOR NO KEY UPDATE';
      const row = await tx.one<Row & { readonly deleted_at: Date | null }>(text, [id]);
      return row && { operator: OPERATORS.read(row), deleted: row.deleted_at !== null };
    },
    async deleteOperator(id: string): Promise<void> {
      await tx.execute('UPDATE operators SET deleted_at = now() WHERE id = $1', [id]);
      await tx.execute('DELETE FROM operator_sessions WHERE operator = $1', [id]);
    },
  };
}

export interface NewOperatorSession {
  readonly digest: string;
  readonly operator: string | null;
  readonly rootDigest: string | null;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** Times are epoch milliseconds. */
export interface OperatorSessionQuery {
  readonly digests: readonly string[];
  readonly rootDigests: readonly string[];
  readonly beganAfter: number;
  readonly usedAfter: number;
  readonly nowMs: number;
}

export interface FoundOperatorSession {
  readonly digest: string;
  readonly seenAt: number;
  /** Null: the deployment's own token. */
  readonly operator: Operator | null;
}

interface SessionRow extends Row {
  readonly session_digest: string;
  readonly seen_at: Date;
  readonly operator: string | null;
}

export type OperatorSessions = ReturnType<typeof createOperatorSessions>;

/** Creates access to operators' sessions. Each read is one statement, so it sees one instant. */
export function createOperatorSessions(pool: Pool) {
  const queries = onPool(pool);
  return {
    /**
     * Starts a session and ends the oldest ones if the holder has more than `keptMax`. Returns
     * false if the operator was deleted or has expired.
     */
    create: ({ digest, operator, rootDigest, nowMs }: NewOperatorSession, keptMax: number): Promise<boolean> =>
      inTransaction(pool, async (tx) => {
        const now = new Date(nowMs);
        // Serializes with a deletion of the operator. A deletion that comes later also ends this
        // session.
        if (operator !== null && (await tx.one(LOCK_OPERATOR, [operator, now])) === null) return false;
        await tx.execute(INSERT, [digest, operator, rootDigest, now]);
        await tx.execute(SURPLUS, [operator, digest, keptMax - 1]);
        return true;
      }),
    /**
     * Finds the session of one of the digests that began and was used after these times. Its holder
     * must be an operator who is neither deleted nor expired, or the deployment's token with one of
     * `rootDigests`.
     */
    async find(query: OperatorSessionQuery): Promise<FoundOperatorSession | null> {
      const { digests, rootDigests, beganAfter, usedAfter, nowMs } = query;
      const values = [digests, rootDigests, new Date(beganAfter), new Date(usedAfter), new Date(nowMs)];
      const row = await queries.one<SessionRow>(FIND, values, { name: 'find-operator-session' });
      if (row === null) return null;
      const operator = row.operator === null ? null : OPERATORS.read(row);
      return { digest: row.session_digest, seenAt: row.seen_at.getTime(), operator };
    },
    /** Records a use of the session and moves it to the digest `current`. */
    async touch(digest: string, current: string, nowMs: number): Promise<void> {
      // A concurrent request with the same cookie may have moved it already.
      const text = `UPDATE operator_sessions SET digest = $2, seen_at = $3
        WHERE digest = $1 AND (digest = $2 OR NOT EXISTS (SELECT FROM operator_sessions WHERE digest = $2))`;
      await queries.execute(text, [digest, current, new Date(nowMs)]);
    },
    async end(digests: readonly string[]): Promise<void> {
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
