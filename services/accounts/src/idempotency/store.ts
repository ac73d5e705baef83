import type { ReceivedOf, accountsBeginIdempotent } from '@gateway/contracts/messages';
import { onPool, type Pool } from '@gateway/postgres';

/** A request with an idempotency key. */
export type IdempotentRequest = ReceivedOf<typeof accountsBeginIdempotent>;

export interface StoredRequest {
  readonly fingerprint: string;
  readonly command: string;
  /** Null: no response yet. */
  readonly answer: { readonly status: number; readonly body: string } | null;
}

interface KeptRow {
  readonly fingerprint: string;
  readonly command: string;
  readonly status: number | null;
  readonly body: string | null;
}

/** A cleanup may delete the key between two statements, but only once. */
const ATTEMPTS_MAX = 3;

export type IdempotencyStore = ReturnType<typeof createIdempotencyStore>;

/** Creates access to the table of operators' idempotency keys. */
export function createIdempotencyStore(pool: Pool) {
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
    /**
     * Returns the request stored under the key since `keptSince` (epoch milliseconds). If there is
     * none, stores this request with `command`.
     */
    async begin(request: IdempotentRequest, command: string, nowMs: number, keptSince: number): Promise<StoredRequest> {
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
        const row =
          (await taken(request, command, nowMs, keptSince)) ??
          (await queries.one<KeptRow>(READ, [request.operator, request.idempotencyKey]));
        if (row) return keptFromRow(row);
      }
      throw new Error('idempotency key was deleted repeatedly');
    },
    /** Stores the first response of the request that holds its key. */
    async end(
      { operator, idempotencyKey, fingerprint }: IdempotentRequest,
      status: number,
      body: string,
    ): Promise<void> {
      const text = `UPDATE idempotency_keys SET status = $4, body = $5
        WHERE operator = $1 AND key = $2 AND fingerprint = $3 AND status IS NULL`;
      await queries.execute(text, [operator, idempotencyKey, fingerprint, status, body]);
    },
  };
}

const KEPT = 'fingerprint, command, status, body';

/** Returns no row if a stored request holds the key. */
const TAKE = `INSERT INTO idempotency_keys (operator, key, fingerprint, command, created_at)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (operator, key) DO UPDATE
    SET fingerprint = EXCLUDED.fingerprint, command = EXCLUDED.command, created_at = EXCLUDED.created_at,
        status = NULL, body = NULL
    WHERE idempotency_keys.created_at < $6
  RETURNING ${KEPT}`;

const READ = `SELECT ${KEPT} FROM idempotency_keys WHERE operator = $1 AND key = $2`;

function keptFromRow({ fingerprint, command, status, body }: KeptRow): StoredRequest {
  return { fingerprint, command, answer: status === null || body === null ? null : { status, body } };
}
