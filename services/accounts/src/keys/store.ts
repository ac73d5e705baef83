import type { Tx } from '@gateway/postgres';
import type { ApiKey } from '../objects.js';
import type { KeysTx } from '../tx-ports.js';
import { keyFromRow, type KeyRow } from '../rows.js';

/**
 * Active or suspended at the time $2. Of an account's API keys these count toward its maximum
 * (docs/behaviour.md#keys): a suspended one can be reinstated and must find its place; revoked and
 * expired are final. The playground's key is none of them.
 */
const IN_USE = "state IN ('active', 'suspended') AND (expires_at IS NULL OR expires_at > $2)";

/** API keys. */
export function makeKeysTx(tx: Tx): KeysTx {
  const keyBy = async (condition: string, value: string): Promise<ApiKey | null> => {
    const row = await tx.one<KeyRow>(`SELECT * FROM api_keys WHERE ${condition}`, [value]);
    return row && keyFromRow(row);
  };
  const count = async (condition: string, of: string, nowMs: number): Promise<number> => {
    const text = `SELECT count(*)::int AS n FROM api_keys WHERE ${condition} AND ${IN_USE}`;
    return (await tx.one<{ n: number }>(text, [of, new Date(nowMs)]))?.n ?? 0;
  };
  /** Writers of one digest wait for each other, so that none meets the constraint, whose error would quote it. */
  const lockDigest = (digest: string) => tx.execute('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [digest]);

  return {
    countActiveKeys: (account, nowMs) => count("account = $1 AND kind = 'api'", account, nowMs),
    countKeysOfMember: (member, nowMs) => count("member = $1 AND kind = 'api'", member, nowMs),
    async insertKey(key) {
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
    keyOfCommand: (command) => keyBy('command = $1', command),
    async lockKey(id) {
      // The account of a key never changes; the key itself is read once everybody else is done with it.
      const text = `SELECT a.id FROM api_keys k JOIN accounts a ON a.id = k.account
        WHERE k.id = $1 FOR NO KEY UPDATE OF a`;
      return (await tx.one<object>(text, [id])) ? keyBy('id = $1', id) : null;
    },
    playgroundKey: (member) => keyBy("member = $1 AND kind = 'playground'", member),
    async updateSecret({ id, digest, maskedSecret, version }) {
      await lockDigest(digest);
      const text = `UPDATE api_keys SET digest = $2, masked_secret = $3, version = $4
        WHERE id = $1 AND NOT EXISTS (SELECT FROM api_keys WHERE digest = $2)`;
      return (await tx.execute(text, [id, digest, maskedSecret, version])) === 1;
    },
    async updateKeyState({ id, state, version }) {
      await tx.execute('UPDATE api_keys SET state = $2, version = $3 WHERE id = $1', [id, state, version]);
    },
    async revokeKeys(account, nowMs) {
      const text = `UPDATE api_keys SET state = 'revoked', version = version + 1 WHERE account = $1 AND ${IN_USE}
        RETURNING *`;
      return (await tx.query<KeyRow>(text, [account, new Date(nowMs)])).map(keyFromRow);
    },
    async rotationOf(command) {
      const text = 'SELECT key, version FROM key_rotations WHERE command = $1';
      const row = await tx.one<{ key: string; version: bigint }>(text, [command]);
      return row && { key: row.key, version: Number(row.version) };
    },
    async insertRotation(command, { id, version }) {
      await tx.execute('INSERT INTO key_rotations (command, key, version) VALUES ($1, $2, $3)', [command, id, version]);
    },
  };
}
