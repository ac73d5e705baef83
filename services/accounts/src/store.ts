import { inTransaction, onPool, type Pool } from '@gateway/postgres';
import type { AccountsStore, Names } from './ports.js';
import { makeAccountsTx } from './accounts-tx.js';
import { auditText, auditEntryFromRow, type AuditRow } from './audit/store.js';
import {
  LOADED_ACCOUNT,
  loadedAccountFromRow,
  MEMBERSHIP,
  membershipFromRow,
  OWNED_ACCOUNT,
  foundSessionFromRows,
  ownedAccountFromRow,
  SESSION,
  type JoinedRow,
  keyFromRow,
  operatorFromRow,
  type KeyRow,
  type OperatorRow,
} from './rows.js';

/** Accounts of one person in the menu of a session. */
const MEMBERSHIPS_SHOWN_MAX = 200;

/**
 * Accounts, keys and operators in their schema. Every read is one statement, so it sees one instant.
 * @param mailNow called after the commit of a change that has queued a mail
 */
export function makeAccountsStore(pool: Pool, mailNow: () => void = () => undefined): AccountsStore {
  const queries = onPool(pool);
  return {
    async change(work) {
      let hasMail = false;
      const queued = (): void => {
        hasMail = true;
      };
      const result = await inTransaction(pool, (tx) => work(makeAccountsTx(tx, queued)));
      if (hasMail) mailNow();
      return result;
    },
    async load(account, key) {
      const row = await queries.one<JoinedRow>(LOADED_ACCOUNT, [account, key], { name: 'load-account' });
      return row ? loadedAccountFromRow(row) : { account: null, key: null, member: null };
    },
    async findKey(digests) {
      const text =
        'SELECT account, id, digest FROM api_keys WHERE digest = ANY($1) ORDER BY array_position($1, digest) LIMIT 1';
      return queries.one<{ account: string; id: string; digest: string }>(text, [digests], { name: 'find-key' });
    },
    async account(id) {
      const row = await queries.one<JoinedRow>(`${OWNED_ACCOUNT} WHERE a.id = $1`, [id]);
      return row && ownedAccountFromRow(row);
    },
    async list(after, limit) {
      const text = `${OWNED_ACCOUNT} WHERE a.id > $1 ORDER BY a.id LIMIT $2`;
      return (await queries.query<JoinedRow>(text, [after ?? '', limit])).map(ownedAccountFromRow);
    },
    async countAccounts() {
      return (await queries.one<{ n: number }>('SELECT count(*)::int AS n FROM accounts'))?.n ?? 0;
    },
    async members(account, after, limit) {
      const text = `${MEMBERSHIP}
        WHERE m.account = $1 AND m.deleted_at IS NULL AND m.id > $2 ORDER BY m.id LIMIT $3`;
      return (await queries.query<JoinedRow>(text, [account, after ?? '', limit])).map(membershipFromRow);
    },
    async keys(account, member, after, limit) {
      const text = `SELECT * FROM api_keys
        WHERE account = $1 AND kind = 'api' AND ($2::text IS NULL OR member = $2) AND id > $3 ORDER BY id LIMIT $4`;
      return (await queries.query<KeyRow>(text, [account, member, after ?? '', limit])).map(keyFromRow);
    },
    async names(account, keys, members) {
      const [namedKeys, namedMembers] = await Promise.all([
        queries.query<NamedKey>(NAMED_KEYS, [account, keys]),
        queries.query<NamedMember>(NAMED_MEMBERS, [account, members]),
      ]);
      return { keys: namedKeys, members: namedMembers };
    },
    async key(id) {
      const row = await queries.one<KeyRow>("SELECT * FROM api_keys WHERE id = $1 AND kind = 'api'", [id]);
      return row && keyFromRow(row);
    },
    async noteUses(uses) {
      const times = [...uses.values()].map((at) => new Date(at));
      // In a transaction for its repeats: two replicas that write the same keys may wait for each other.
      await inTransaction(pool, (tx) => tx.execute(NOTE_USES, [[...uses.keys()], times]));
    },
    async findOperator(digests, nowMs) {
      const text = `SELECT * FROM operators WHERE digest = ANY($1) AND deleted_at IS NULL
          AND (expires_at IS NULL OR expires_at > $2)
        ORDER BY array_position($1, digest) LIMIT 1`;
      const row = await queries.one<OperatorRow>(text, [digests, new Date(nowMs)], { name: 'find-operator' });
      return row && operatorFromRow(row);
    },
    async operators(after, limit) {
      const text = 'SELECT * FROM operators WHERE deleted_at IS NULL AND id > $1 ORDER BY id LIMIT $2';
      return (await queries.query<OperatorRow>(text, [after ?? '', limit])).map(operatorFromRow);
    },
    async alertReader(account, member, subject) {
      const key = subject.kind === 'key_cap' ? subject.keyId : null;
      const capped = subject.kind === 'member_cap' ? subject.memberId : null;
      const row = await queries.one<AlertReaderRow>(ALERT_READER, [account, member, key, capped]);
      return row && { email: row.email, accountName: row.name, keyName: row.key_name, cappedMember: row.capped };
    },
    async findSession(digests, beganAfter, usedAfter) {
      const values = [digests, new Date(beganAfter), new Date(usedAfter), MEMBERSHIPS_SHOWN_MAX];
      return foundSessionFromRows(await queries.query<JoinedRow>(SESSION, values, { name: 'find-session' }));
    },
    async noteSession(digest, current, nowMs) {
      // Another request with the same cookie may have put it under the current digest already.
      const text = `UPDATE sessions SET digest = $2, seen_at = $3
        WHERE digest = $1 AND (digest = $2 OR NOT EXISTS (SELECT FROM sessions WHERE digest = $2))`;
      await queries.execute(text, [digest, current, new Date(nowMs)]);
    },
    async auditEntries(filter) {
      const { text, values } = auditText(filter);
      return (await queries.query<AuditRow>(text, values)).map(auditEntryFromRow);
    },
  };
}

type NamedKey = Names['keys'][number];
type NamedMember = Names['members'][number];

const NAMED_KEYS = `SELECT k.id, k.name, k.kind, k.member, u.email FROM api_keys k
   JOIN members m ON m.id = k.member JOIN users u ON u.id = m.user_id
 WHERE k.account = $1 AND k.id = ANY($2)`;
const NAMED_MEMBERS = `SELECT m.id, u.email FROM members m JOIN users u ON u.id = m.user_id
 WHERE m.account = $1 AND m.id = ANY($2)`;

interface AlertReaderRow {
  readonly email: string;
  readonly name: string;
  readonly key_name: string | null;
  readonly capped: string | null;
}

const ALERT_READER = `SELECT u.email, a.name, k.name AS key_name, cu.email AS capped
  FROM members m
  JOIN users u ON u.id = m.user_id
  JOIN accounts a ON a.id = m.account
  LEFT JOIN api_keys k ON k.account = a.id AND k.id = $3
  LEFT JOIN members c ON c.account = a.id AND c.id = $4
  LEFT JOIN users cu ON cu.id = c.user_id
 WHERE m.account = $1 AND m.id = $2 AND m.deleted_at IS NULL AND u.email_verified`;

/** Locked in the order of ids first, so that writers of the same keys rarely meet the other way round; judged under the lock. */
const NOTE_USES = `WITH used AS (
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
