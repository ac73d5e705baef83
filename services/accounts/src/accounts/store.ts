import { ERASED_PEOPLE_MAX, type accountsUnchanged, type ReceivedOf } from '@gateway/contracts/messages';
import { enqueue, type Tx } from '@gateway/postgres';
import { ERASURE_TOPIC, type Account, type ApiKey, type OwnedAccount } from '../base/rules.js';
import {
  ACCOUNTS,
  LOADED_ACCOUNT,
  loadedAccountFromRow,
  OWNED_ACCOUNT,
  ownedAccountFromRow,
  written,
  type Row,
  type LoadedAccount,
} from '../base/sql.js';
import { BILLING_OUTBOX, type BaseReads, type Changes } from '../base/store.js';
import type { PeopleTx } from '../people/store.js';

/** The queries of an account transaction. */
export type AccountTx = PeopleTx & ReturnType<typeof createAccountWrites>;
export type AccountStore = BaseReads & ReturnType<typeof createAccountReads> & Changes<AccountTx>;

/** Names of keys with their members, and addresses of members, in one account. */
export interface Names {
  readonly keys: readonly NamedKey[];
  readonly members: readonly NamedMember[];
}
type NamedKey = Pick<ApiKey, 'id' | 'name' | 'kind' | 'member'> & { readonly email: string };
type NamedMember = { readonly id: string; readonly email: string };

export type AskedAccounts = ReceivedOf<typeof accountsUnchanged>['accounts'];

/**
 * Creates the reads of accounts. Lists are in the order of creation and begin after an ID; null:
 * with the first object.
 */
export function createAccountReads(queries: Tx) {
  return {
    /**
     * Loads an account, a key and the key's member. A null `key` loads only the account. A key of
     * another account is not found.
     */
    async load(account: string, key: string | null): Promise<LoadedAccount> {
      const row = await queries.one<Row>(LOADED_ACCOUNT, [account, key], { name: 'load-account' });
      return row ? loadedAccountFromRow(row) : { account: null, key: null, member: null };
    },
    /** Returns the accounts whose versions all match at one instant. */
    async unchanged(asked: AskedAccounts): Promise<string[]> {
      const keys = asked.flatMap(({ account, keys }) => keys.map((key) => ({ account, ...key })));
      const members = asked.flatMap(({ account, members }) => members.map((member) => ({ account, ...member })));
      const columns = [keys, members].flatMap((named) => [
        named.map(({ account }) => account),
        named.map(({ id }) => id),
        named.map(({ version }) => version),
      ]);
      const values = [asked.map(({ account }) => account), asked.map(({ version }) => version), ...columns];
      return (await queries.query<{ account: string }>(UNCHANGED, values, { name: 'unchanged' })).map(
        ({ account }) => account,
      );
    },
    async list(after: string | null, limit: number): Promise<OwnedAccount[]> {
      const text = `${OWNED_ACCOUNT} WHERE a.id > $1 ORDER BY a.id LIMIT $2`;
      return (await queries.query<Row>(text, [after ?? '', limit])).map(ownedAccountFromRow);
    },
    accountOfExternalId: (externalId: string) => findAccountOfExternalId(queries, externalId),
    async countAccounts(): Promise<number> {
      return (await queries.one<{ n: number }>('SELECT count(*)::int AS n FROM accounts'))?.n ?? 0;
    },
    /** Includes playground keys and deleted members. */
    async names(account: string, keys: readonly string[], members: readonly string[]): Promise<Names> {
      const [namedKeys, namedMembers] = await Promise.all([
        queries.query<NamedKey>(NAMED_KEYS, [account, keys]),
        queries.query<NamedMember>(NAMED_MEMBERS, [account, members]),
      ]);
      return { keys: namedKeys, members: namedMembers };
    },
  };
}

/** The LIMIT in each subquery prevents a prepared plan that reads whole tables. */
const UNCHANGED = `WITH changed AS (
    SELECT named.account FROM unnest($3::text[], $4::text[], $5::bigint[]) AS named (account, id, version)
      LEFT JOIN LATERAL (SELECT account, version FROM api_keys WHERE id = named.id LIMIT 1) AS kept ON true
     WHERE (kept.account, kept.version) IS DISTINCT FROM (named.account, named.version)
    UNION
    SELECT named.account FROM unnest($6::text[], $7::text[], $8::bigint[]) AS named (account, id, version)
      LEFT JOIN LATERAL (SELECT account, version FROM members WHERE id = named.id LIMIT 1) AS kept ON true
     WHERE (kept.account, kept.version) IS DISTINCT FROM (named.account, named.version)
  )
  SELECT asked.account FROM unnest($1::text[], $2::bigint[]) AS asked (account, version)
    JOIN LATERAL (SELECT version FROM accounts WHERE id = asked.account LIMIT 1) AS kept USING (version)
   WHERE asked.account NOT IN (SELECT account FROM changed)`;
const NAMED_KEYS = `SELECT k.id, k.name, k.kind, k.member, u.email FROM api_keys k
   JOIN members m ON m.id = k.member JOIN users u ON u.id = m.user_id
 WHERE k.account = $1 AND k.id = ANY($2)`;
const NAMED_MEMBERS = `SELECT m.id, u.email FROM members m JOIN users u ON u.id = m.user_id
 WHERE m.account = $1 AND m.id = ANY($2)`;

async function findAccountOfExternalId(queries: Tx, externalId: string): Promise<OwnedAccount | null> {
  const row = await queries.one<Row>(`${OWNED_ACCOUNT} WHERE a.external_id = $1`, [externalId]);
  return row && ownedAccountFromRow(row);
}

/** A new account. A `command` creates only one. */
export type NewAccount = Pick<Account, 'id' | 'name' | 'type' | 'externalId'> & { readonly command: string | null };

/** Creates the writes of accounts in one transaction. */
export function createAccountWrites(tx: Tx) {
  return {
    async insertAccount({ id, name, type, externalId, command }: NewAccount): Promise<Account> {
      const text = `INSERT INTO accounts (id, name, type, external_id, command)
        VALUES ($1, $2, $3, $4, $5) RETURNING *`;
      return ACCOUNTS.read(await written(tx.one<Row>(text, [id, name, type, externalId, command])));
    },
    accountOfExternalId: (externalId: string) => findAccountOfExternalId(tx, externalId),
    async accountOfCommand(command: string): Promise<OwnedAccount | null> {
      const row = await tx.one<Row>(`${OWNED_ACCOUNT} WHERE a.command = $1`, [command]);
      return row && ownedAccountFromRow(row);
    },
    async updateAccount({ id, state, version }: Account): Promise<void> {
      await tx.execute('UPDATE accounts SET state = $2, version = $3 WHERE id = $1', [id, state, version]);
    },
    /**
     * Erases names and addresses of a closed account, also in the audit log, and returns the number
     * of erased entries. No other function can do that.
     */
    async eraseClosedAccount(id: string): Promise<number> {
      const text = 'SELECT erase_closed_account($1) AS entries';
      return Number((await written(tx.one<{ entries: bigint }>(text, [id]))).entries);
    },
    /**
     * Queues the erasure of the same people's origins in billing, to be sent after the commit. Must
     * follow {@link eraseClosedAccount}, which replaces members of other accounts by users without
     * entries.
     */
    async publishErasure(id: string): Promise<void> {
      const rows = await tx.query<{ user_id: string }>('SELECT DISTINCT user_id FROM members WHERE account = $1', [id]);
      for (let at = 0; at < rows.length; at += ERASED_PEOPLE_MAX) {
        const people = rows.slice(at, at + ERASED_PEOPLE_MAX).map((row) => row.user_id);
        await enqueue(tx, { topic: ERASURE_TOPIC, key: id, body: { people } }, BILLING_OUTBOX);
      }
    },
  };
}
