import { inTransaction, onPool, type Pool } from '@gateway/postgres';
import type { IdempotencyStore, IdempotentRequest, KeptRequest } from '../ports.js';

interface KeptRow {
  readonly fingerprint: string;
  readonly command: string;
  readonly status: number | null;
  readonly body: string | null;
}

/** Between two statements a key may be deleted, once in its life. */
const ATTEMPTS_MAX = 3;

export function makeIdempotencyStore(pool: Pool): IdempotencyStore {
  const queries = onPool(pool);

  const taken = async (request: IdempotentRequest, command: string, nowMs: number, keptSince: number) =>
    queries.one<KeptRow>(TAKE, [
      request.operator,
      request.idempotencyKey,
      request.fingerprint,
      command,
      new Date(nowMs),
      new Date(keptSince),
    ]);

  return {
    async begin(request, command, nowMs, keptSince) {
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
        const row =
          (await taken(request, command, nowMs, keptSince)) ??
          (await queries.one<KeptRow>(READ, [request.operator, request.idempotencyKey]));
        if (row) return keptFromRow(row);
      }
      throw new Error('an idempotency key was deleted again and again');
    },
    async end({ operator, idempotencyKey, fingerprint }, status, body) {
      const text = `UPDATE idempotency_keys SET status = $4, body = $5
        WHERE operator = $1 AND key = $2 AND fingerprint = $3 AND status IS NULL`;
      await queries.execute(text, [operator, idempotencyKey, fingerprint, status, body]);
    },
    async forget(keysBefore, rotationsBefore, limit) {
      // In transactions for their repeats: replicas that delete the same rows may wait for each other.
      const forget = (text: string, before: number) =>
        inTransaction(pool, (tx) => tx.execute(text, [new Date(before), limit]));
      return (await forget(FORGET_KEYS, keysBefore)) + (await forget(FORGET_ROTATIONS, rotationsBefore));
    },
  };
}

const KEPT = 'fingerprint, command, status, body';

/** Nothing comes back when the key is held by a request that is still kept. */
const TAKE = `INSERT INTO idempotency_keys (operator, key, fingerprint, command, created_at)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (operator, key) DO UPDATE
    SET fingerprint = EXCLUDED.fingerprint, command = EXCLUDED.command, created_at = EXCLUDED.created_at,
        status = NULL, body = NULL
    WHERE idempotency_keys.created_at < $6
  RETURNING ${KEPT}`;

const READ = `SELECT ${KEPT} FROM idempotency_keys WHERE operator = $1 AND key = $2`;

const FORGET_KEYS = `DELETE FROM idempotency_keys WHERE (operator, key) IN (
    SELECT operator, key FROM idempotency_keys WHERE created_at < $1
     ORDER BY created_at LIMIT $2)`;
const FORGET_ROTATIONS = `DELETE FROM key_rotations WHERE command IN (
    SELECT command FROM key_rotations WHERE created_at < $1 ORDER BY created_at LIMIT $2)`;

function keptFromRow({ fingerprint, command, status, body }: KeptRow): KeptRequest {
  return { fingerprint, command, answer: status === null || body === null ? null : { status, body } };
}
