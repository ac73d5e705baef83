import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import type { ApiKey } from '../base/rules.js';
import { KEYS, type Row } from '../base/sql.js';
import type { BaseReads, BaseTx, Changes } from '../base/store.js';

/** The queries of a key transaction. */
export type KeyTx = BaseTx & ReturnType<typeof createKeyWrites>;
export type KeyStore = BaseReads & ReturnType<typeof createKeyReads> & Changes<KeyTx>;

/** Creates the reads of API keys, and the write of their last uses. */
export function createKeyReads(pool: Pool) {
  const queries = onPool(pool);
  return {
    /** Finds the key that has one of the digests. */
    findKey(digests: readonly string[]): Promise<Pick<ApiKey, 'account' | 'id' | 'digest'> | null> {
      const text =
        'SELECT account, id, digest FROM api_keys WHERE digest = ANY($1) ORDER BY array_position($1, digest) LIMIT 1';
      return queries.one<{ account: string; id: string; digest: string }>(text, [digests], { name: 'find-key' });
    },
    /**
     * Lists keys in the order of creation, after an ID, without playground keys. Null `member`: of
     * all members.
     */
    async keys(account: string, member: string | null, after: string | null, limit: number): Promise<ApiKey[]> {
      const text = `SELECT * FROM api_keys
        WHERE account = $1 AND kind = 'api' AND ($2::text IS NULL OR member = $2) AND id > $3 ORDER BY id LIMIT $4`;
      return (await queries.query<Row>(text, [account, member, after ?? '', limit])).map((row) => KEYS.read(row));
    },
    /** Returns a key unless it is a playground key. */
    async key(id: string): Promise<ApiKey | null> {
      const row = await queries.one<Row>("SELECT * FROM api_keys WHERE id = $1 AND kind = 'api'", [id]);
      return row && KEYS.read(row);
    },
    /** Stores last uses (epoch milliseconds). A time before the stored one changes nothing. */
    async recordUses(uses: ReadonlyMap<string, number>): Promise<void> {
      const times = [...uses.values()].map((at) => new Date(at));
      // A transaction is retried after a deadlock between replicas that write the same keys.
      await inTransaction(pool, (tx) => tx.execute(RECORD_USES, [[...uses.keys()], times]));
    },
  };
}

/** Locks rows in the order of IDs to avoid most deadlocks, and compares times under the lock. */
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
 * Condition for keys that are active or suspended at the time $2. API keys that meet it count
 * toward the account's maximum (docs/behaviour.md#keys): a suspended key may be reinstated, but
 * revoked and expired keys are final. Playground keys do not count.
 */
const IN_USE = "state IN ('active', 'suspended') AND (expires_at IS NULL OR expires_at > $2)";

/** The database sets these fields of a new key. */
const SET_BY_DATABASE = ['state', 'version', 'createdAt', 'lastUsedAt'] as const satisfies (keyof ApiKey)[];

/** A new key. A `command` creates only one. */
export type NewKey = Omit<ApiKey, (typeof SET_BY_DATABASE)[number]> & { readonly command: string | null };

const COLUMNS: Readonly<Record<keyof NewKey, string>> = { ...KEYS.columns, command: 'command' };
const INSERTED = (Object.keys(COLUMNS) as (keyof NewKey)[]).filter(
  (name) => !(SET_BY_DATABASE as readonly string[]).includes(name),
);
const INSERT_KEY = `INSERT INTO api_keys (${INSERTED.map((name) => COLUMNS[name]).join(', ')})
  VALUES (${INSERTED.map((_name, at) => `$${at + 1}`).join(', ')})
  ON CONFLICT (digest) DO NOTHING RETURNING *`;

/** Creates the writes of API keys. Each write requires the lock of the key's account. */
export function createKeyWrites(tx: Tx) {
  const keyBy = async (condition: string, value: string): Promise<ApiKey | null> => {
    const row = await tx.one<Row>(`SELECT * FROM api_keys WHERE ${condition}`, [value]);
    return row && KEYS.read(row);
  };
  const count = async (condition: string, of: string, nowMs: number): Promise<number> => {
    const text = `SELECT count(*)::int AS n FROM api_keys WHERE ${condition} AND ${IN_USE}`;
    return (await tx.one<{ n: number }>(text, [of, new Date(nowMs)]))?.n ?? 0;
  };
  /**
   * Serializes writers of one digest, so that no unique-constraint error occurs, which would quote
   * the digest.
   */
  const lockDigest = (digest: string) => tx.execute('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [digest]);

  return {
    countActiveKeys: (account: string, nowMs: number) => count("account = $1 AND kind = 'api'", account, nowMs),
    /** Counts a member's API keys that are active or suspended at that time. */
    countKeysOfMember: (member: string, nowMs: number) => count("member = $1 AND kind = 'api'", member, nowMs),
    /** Returns null if another key has this digest. */
    async insertKey(key: NewKey): Promise<ApiKey | null> {
      await lockDigest(key.digest);
      const stored = { ...key, expiresAt: key.expiresAt === null ? null : new Date(key.expiresAt) };
      const values = INSERTED.map((name) => stored[name]);
      const row = await tx.one<Row>(INSERT_KEY, values);
      return row && KEYS.read(row);
    },
    keyOfCommand: (command: string) => keyBy('command = $1', command),
    /** Returns whether the account has a key with this external ID, in any state. */
    async hasKey(account: string, externalId: string): Promise<boolean> {
      const text = 'SELECT FROM api_keys WHERE account = $1 AND external_id = $2';
      return (await tx.one<object>(text, [account, externalId])) !== null;
    },
    /** Locks the key's account and returns the key. */
    async lockKey(id: string): Promise<ApiKey | null> {
      // The account of a key never changes. The key is read after other transactions have released
      // the lock.
      const text = `SELECT a.id FROM api_keys k JOIN accounts a ON a.id = k.account
        WHERE k.id = $1 FOR NO KEY UPDATE OF a`;
      return (await tx.one<object>(text, [id])) ? keyBy('id = $1', id) : null;
    },
    playgroundKey: (member: string) => keyBy("member = $1 AND kind = 'playground'", member),
    /** Writes digest, masked form and version. Returns false if another key has this digest. */
    async updateSecret({ id, digest, maskedSecret, version }: ApiKey): Promise<boolean> {
      await lockDigest(digest);
      const text = `UPDATE api_keys SET digest = $2, masked_secret = $3, version = $4
        WHERE id = $1 AND NOT EXISTS (SELECT FROM api_keys WHERE digest = $2)`;
      return (await tx.execute(text, [id, digest, maskedSecret, version])) === 1;
    },
    async updateKeyState({ id, state, version }: ApiKey): Promise<void> {
      await tx.execute('UPDATE api_keys SET state = $2, version = $3 WHERE id = $1', [id, state, version]);
    },
    /**
     * Revokes and returns all keys of an account that are active or suspended at that time,
     * including playground keys.
     */
    async revokeKeys(account: string, nowMs: number): Promise<ApiKey[]> {
      const text = `UPDATE api_keys SET state = 'revoked', version = greatest(version + 1, $3)
        WHERE account = $1 AND ${IN_USE}
        RETURNING *`;
      return (await tx.query<Row>(text, [account, new Date(nowMs), nowMs])).map((row) => KEYS.read(row));
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
