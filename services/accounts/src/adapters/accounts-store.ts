import { inTransaction, onPool, type Pool } from '@gateway/postgres';
import type { AccountsStore } from '../ports.js';
import { makeAccountsTx } from './accounts-tx.js';
import { accountFromRow, keyFromRow, memberFromRow, userFromRow } from './rows.js';
import type { AccountRow, KeyRow, MemberRow, UserRow } from './rows.js';

/** Accounts and keys in their schema. Every read is one statement, so it sees one instant. */
export function makeAccountsStore(pool: Pool): AccountsStore {
  const queries = onPool(pool);
  return {
    change: (work) => inTransaction(pool, (tx) => work(makeAccountsTx(tx))),
    async load(account, key) {
      // Rows travel as they are: to_jsonb would write times and numbers in its own way.
      const row = await queries.one<LoadRow>(LOAD, [account, key], { name: 'load-account' });
      if (!row) return { account: null, key: null, member: null };
      return {
        account: accountFromRow(unprefixed<AccountRow>(row, 'a_')),
        key: row.k_id === null ? null : keyFromRow(unprefixed<KeyRow>(row, 'k_')),
        member: row.m_id === null ? null : memberFromRow(unprefixed<MemberRow>(row, 'm_')),
      };
    },
    async findKey(digests) {
      const text =
        'SELECT account, id, digest FROM api_keys WHERE digest = ANY($1) ORDER BY array_position($1, digest) LIMIT 1';
      return queries.one<{ account: string; id: string; digest: string }>(text, [digests], { name: 'find-key' });
    },
    async list(after, limit) {
      const rows = await queries.query<ListRow>(LIST, [after ?? '', limit]);
      return rows.map((row) => ({
        account: accountFromRow(unprefixed<AccountRow>(row, 'a_')),
        owner: memberFromRow(unprefixed<MemberRow>(row, 'm_')),
        user: userFromRow(unprefixed<UserRow>(row, 'u_')),
      }));
    },
    async countAccounts() {
      return (await queries.one<{ n: number }>('SELECT count(*)::int AS n FROM accounts'))?.n ?? 0;
    },
  };
}

type LoadRow = Readonly<Record<string, unknown>> & { readonly k_id: string | null; readonly m_id: string | null };
type ListRow = Readonly<Record<string, unknown>>;

const ACCOUNT = columns('a', ['id', 'name', 'type', 'state', 'version', 'created_at']);
const MEMBER = columns('m', ['id', 'account', 'user_id', 'role', 'cap_nano_usd', 'version']);
const USER = columns('u', ['id', 'email', 'email_verified']);
const KEY = columns('k', [
  'id',
  'account',
  'member',
  'kind',
  'name',
  'digest',
  'masked_secret',
  'state',
  'expires_at',
  'cap_nano_usd',
  'allowed_models',
  'version',
  'created_at',
]);

const LOAD = `SELECT ${ACCOUNT}, ${KEY}, ${MEMBER}
  FROM accounts a
  LEFT JOIN api_keys k ON k.account = a.id AND k.id = $2
  LEFT JOIN members m ON m.id = k.member
 WHERE a.id = $1`;

const LIST = `SELECT ${ACCOUNT}, ${MEMBER}, ${USER}
  FROM accounts a
  JOIN members m ON m.account = a.id AND m.role = 'owner'
  JOIN users u ON u.id = m.user_id
 WHERE a.id > $1
 ORDER BY a.id
 LIMIT $2`;

/** Each column under the alias of its table, so that rows of several tables travel side by side. */
function columns(alias: string, names: readonly string[]): string {
  return names.map((name) => `${alias}.${name} AS ${alias}_${name}`).join(', ');
}

/** The columns of one table out of a joined row. The caller names the row that stands under this prefix. */
function unprefixed<Row>(row: Readonly<Record<string, unknown>>, prefix: string): Row {
  const own = Object.entries(row).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value])) as Row;
}
