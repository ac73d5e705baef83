import { randomUUID } from 'node:crypto';
import { groupBy } from '@gateway/service-kit';
import { qualifiedIdentifier } from '../identifier.js';
import type { Pool } from '../pool.js';
import { onPool } from '../tx.js';

export interface OutboxRow {
  readonly id: bigint;
  readonly topic: string;
  readonly key: string;
  readonly body: unknown;
  /** Failed deliveries of this row so far. */
  readonly attempts: number;
}

/** Rows of one key, in order, that only this replica may deliver until its lease ends. */
export interface ClaimedBatch {
  readonly claim: string;
  readonly rows: readonly OutboxRow[];
}

export interface RunResult {
  readonly delivered: readonly bigint[];
  readonly failed: bigint | null;
  /** Delay for the failed row and the later rows of its key. */
  readonly retryInMs: number;
}

/** The statements on an outbox table. Each is a short transaction. */
export interface OutboxRows {
  /** @param ofKeys restricts the claim to these keys; null: all keys */
  claim(keysMax: number, rowsMax: number, leaseMs: number, ofKeys: readonly string[] | null): Promise<ClaimedBatch[]>;
  /**
   * Deletes the delivered rows and releases the others. Leaves rows alone that another replica has
   * claimed since.
   */
  finish(run: ClaimedBatch, result: RunResult): Promise<void>;
}

export function outboxRows(pool: Pool, table: string): OutboxRows {
  const name = qualifiedIdentifier(table, 'the name of an outbox table');
  const queries = onPool(pool);
  return {
    async claim(keysMax, rowsMax, leaseMs, ofKeys) {
      const claim = randomUUID();
      const values = [keysMax, rowsMax, leaseMs, claim];
      const rows =
        ofKeys === null
          ? await queries.query<OutboxRow>(claimText(name), values)
          : await queries.query<OutboxRow>(claimText(name, 'AND o.key = ANY ($5::text[])'), [...values, ofKeys]);
      rows.sort((a, b) => (a.id < b.id ? -1 : 1));
      return [...groupBy(rows, ({ key }) => key).values()].map((run) => ({ claim, rows: run }));
    },

    async finish({ claim, rows }, { delivered, failed, retryInMs }) {
      const rest = rows.map(({ id }) => id).filter((id) => !delivered.includes(id));
      if (delivered.length > 0) {
        await queries.execute(`DELETE FROM ${name} WHERE id = ANY($1::bigint[]) AND claim = $2`, [delivered, claim]);
      }
      if (rest.length === 0) return;
      await queries.execute(
        `UPDATE ${name}
            SET claim = NULL,
                due_at = clock_timestamp() + $3 * interval '1 millisecond',
                attempts = attempts + CASE WHEN id = $4 THEN 1 ELSE 0 END
          WHERE id = ANY($1::bigint[]) AND claim = $2`,
        [rest, claim, retryInMs, failed],
      );
    },
  };
}

/**
 * Claims whole keys by their oldest row. While that row is claimed or waits for its next attempt,
 * no replica claims a later one. SKIP LOCKED keeps replicas from waiting for each other within this
 * statement; between statements `due_at` separates them. If the oldest row of a key has failed
 * before, only that row is claimed, so that an unreachable receiver causes no writes for the rows
 * behind it.
 */
function claimText(name: string, condition = ''): string {
  return `WITH head AS (
      SELECT o.id, o.key, o.attempts
        FROM ${name} o
       WHERE o.due_at <= now() ${condition}
         AND NOT EXISTS (SELECT FROM ${name} earlier WHERE earlier.key = o.key AND earlier.id < o.id)
       ORDER BY o.id
       LIMIT $1
         FOR UPDATE SKIP LOCKED
    ), run AS (
      SELECT taken.id
        FROM head
       CROSS JOIN LATERAL (
               SELECT id FROM ${name}
                WHERE key = head.key AND (head.attempts = 0 OR id = head.id)
                ORDER BY id LIMIT $2) taken
    )
    UPDATE ${name} o
       SET due_at = now() + $3 * interval '1 millisecond', claim = $4
      FROM run
     WHERE o.id = run.id
    RETURNING o.id, o.topic, o.key, o.body, o.attempts`;
}
