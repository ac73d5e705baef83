import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import type { ApiKey } from '../base/rules.js';
import { keyFromRow, type KeyRow } from '../base/sql.js';
import type { BaseReads, BaseTx, Changes } from '../base/store.js';

/** The queries of a change of keys. */
export type KeyTx = BaseTx & ReturnType<typeof createKeyWrites>;
export type KeyStore = BaseReads & ReturnType<typeof createKeyReads> & Changes<KeyTx>;

/** Reads of API keys, and when they were last used. */
export function createKeyReads(pool: Pool) {
  const queries = onPool(pool);
  return {
    /** The key that has one of the digests. */
    findKey(digests: readonly string[]): Promise<Pick<ApiKey, 'account' | 'id' | 'digest'> | null> {
      const text =
        'SELECT account, id, digest FROM api_keys WHERE digest = ANY($1) ORDER BY array_position($1, digest) LIMIT 1';
      return queries.one<{ account: string; id: string; digest: string }>(text, [digests], { name: 'find-key' });
    },
    /** In the order of creation, after an id, without playground keys; `member` null: of all. */
    async keys(account: string, member: string | null, after: string | null, limit: number): Promise<ApiKey[]> {
      const text = `SELECT * FROM api_keys
        WHERE account = $1 AND kind = 'api' AND ($2::text IS NULL OR member = $2) AND id > $3 ORDER BY id LIMIT $4`;
      return (await queries.query<KeyRow>(text, [account, member, after ?? '', limit])).map(keyFromRow);
    },
    /** A key that is not a playground key. */
    async key(id: string): Promise<ApiKey | null> {
      const row = await queries.one<KeyRow>("SELECT * FROM api_keys WHERE id = $1 AND kind = 'api'", [id]);
      return row && keyFromRow(row);
    },
    /**
     * Writes when keys were last used (epoch milliseconds); an earlier time than the written one
     * changes nothing.
     */
    async recordUses(uses: ReadonlyMap<string, number>): Promise<void> {
      const times = [...uses.values()].map((at) => new Date(at));
      // In a transaction for its repeats: two replicas that write the same keys may wait for each
      // other.
      await inTransaction(pool, (tx) => tx.execute(RECORD_USES, [[...uses.keys()], times]));
    },
  };
}

/**
 * Locked in the order of ids first, so that writers of the same keys rarely meet the other way
 * round; judged under the lock.
 */
const RECORD_USES = `WITH used AS (
    SELECT k.id, u.at
      FROM unnest($1::text[], $2::timestamptz[]) AS u (id, at)
      JOIN api_keys k ON k.id = u.id
     WHERE k.last_used_at IS NULL OR k.last_used_at < u.at
     ORDER BY k.id
       FOR NO KEY UPDATE OF k
  )
  UPDATE api_keys k SET last_used_at = used.at
    FROM used
   WHERE k.id = used.id`;

/**
 * Active or suspended at the time $2. Of an account's API keys these count toward its maximum
 * (docs/behaviour.md#keys): a suspended one can be reinstated and must find its place; revoked and
 * expired are final. The playground's key is none of them.
 */
const IN_USE = "state IN ('active', 'suspended') AND (expires_at IS NULL OR expires_at > $2)";

/** A command, where there is one, makes one object only. */
export type NewKey = Omit<ApiKey, 'state' | 'version' | 'createdAt' | 'lastUsedAt'> & {
  readonly command: string | null;
};

/** API keys within one change. Every write happens under the lock of the key's account. */
export function createKeyWrites(tx: Tx) {
  const keyBy = async (condition: string, value: string): Promise<ApiKey | null> => {
    const row = await tx.one<KeyRow>(`SELECT * FROM api_keys WHERE ${condition}`, [value]);
    return row && keyFromRow(row);
  };
  const count = async (condition: string, of: string, nowMs: number): Promise<number> => {
    const text = `SELECT count(*)::int AS n FROM api_keys WHERE ${condition} AND ${IN_USE}`;
    return (await tx.one<{ n: number }>(text, [of, new Date(nowMs)]))?.n ?? 0;
  };
  /**
   * Writers of one digest wait for each other, so that none meets the constraint, whose error would
   * quote it.
   */
  const lockDigest = (digest: string) => tx.execute('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [digest]);

  return {
    /** Keys of the account that take one of its places at that time. */
    countActiveKeys: (account: string, nowMs: number) => count("account = $1 AND kind = 'api'", account, nowMs),
    /** Keys of a member that are active or suspended at that time, without the playground key. */
    countKeysOfMember: (member: string, nowMs: number) => count("member = $1 AND kind = 'api'", member, nowMs),
    /** Null: another key has this digest. */
    async insertKey(key: NewKey): Promise<ApiKey | null> {
      await lockDigest(key.digest);
      const text = `INSERT INTO api_keys
          (id, account, member, kind, name, digest, masked_secret, expires_at, cap_nano_usd, allowed_models, command)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        ON CONFLICT (digest) DO NOTHING RETURNING *`;
      const row = await tx.one<KeyRow>(text, [
        key.id,
        key.account,
        key.member,
        key.kind,
        key.name,
        key.digest,
        key.maskedSecret,
        key.expiresAt === null ? null : new Date(key.expiresAt),
        key.capNanoUsd,
        key.allowedModels,
        key.command,
      ]);
      return row && keyFromRow(row);
    },
    keyOfCommand: (command: string) => keyBy('command = $1', command),
    /** The key as it is once its account is locked. */
    async lockKey(id: string): Promise<ApiKey | null> {
      // The account of a key never changes; the key itself is read once everybody else is done with
      // it.
      const text = `SELECT a.id FROM api_keys k JOIN accounts a ON a.id = k.account
        WHERE k.id = $1 FOR NO KEY UPDATE OF a`;
      return (await tx.one<object>(text, [id])) ? keyBy('id = $1', id) : null;
    },
    playgroundKey: (member: string) => keyBy("member = $1 AND kind = 'playground'", member),
    /** Writes digest, masked form and version. False: a key has this digest. */
    async updateSecret({ id, digest, maskedSecret, version }: ApiKey): Promise<boolean> {
      await lockDigest(digest);
      const text = `UPDATE api_keys SET digest = $2, masked_secret = $3, version = $4
        WHERE id = $1 AND NOT EXISTS (SELECT FROM api_keys WHERE digest = $2)`;
      return (await tx.execute(text, [id, digest, maskedSecret, version])) === 1;
    },
    /** Writes state and version. */
    async updateKeyState({ id, state, version }: ApiKey): Promise<void> {
      await tx.execute('UPDATE api_keys SET state = $2, version = $3 WHERE id = $1', [id, state, version]);
    },
    /**
     * Revokes and returns all keys of an account that are active or suspended at that time, the
     * playground keys too.
     */
    async revokeKeys(account: string, nowMs: number): Promise<ApiKey[]> {
      const text = `UPDATE api_keys SET state = 'revoked', version = greatest(version + 1, $3)
        WHERE account = $1 AND ${IN_USE}
        RETURNING *`;
      return (await tx.query<KeyRow>(text, [account, new Date(nowMs), nowMs])).map(keyFromRow);
    },
    async rotationOf(command: string): Promise<{ readonly key: string; readonly version: number } | null> {
      const text = 'SELECT key, version FROM key_rotations WHERE command = $1';
      const row = await tx.one<{ key: string; version: bigint }>(text, [command]);
      return row && { key: row.key, version: Number(row.version) };
    },
    async insertRotation(command: string, { id, version }: ApiKey): Promise<void> {
      await tx.execute('INSERT INTO key_rotations (command, key, version) VALUES ($1, $2, $3)', [command, id, version]);
    },
  };
}
