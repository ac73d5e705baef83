import type { AnswerOf, billingUnchanged, ReceivedOf } from '@gateway/contracts/messages';
import { inTransaction, type Pool, type Tx } from '@gateway/postgres';
import { int8s, texts } from '../ledger/array-sql.js';
import { DATABASE_IDENTITY_SQL } from '../ledger/sql.js';
import { RUNNING_ROWS_MAX, computeRunningRanges } from './load-store.js';

export type RequestedAccounts = ReceivedOf<typeof billingUnchanged>['accounts'];

/** The requested accounts whose versions still match, read in one snapshot. */
export interface UnchangedAccounts {
  /** Identifies the database that the snapshot was read from. */
  readonly database: string;
  readonly ledgerEpoch: string;
  readonly accounts: AnswerOf<typeof billingUnchanged>['accounts'];
}

export interface UnchangedStore {
  /** @param now selects the running and upcoming windows, epoch milliseconds */
  unchanged(asked: RequestedAccounts, now: number): Promise<UnchangedAccounts>;
}

export function createUnchangedStore(pool: Pool): UnchangedStore {
  return {
    unchanged: (asked, now) =>
      inTransaction(pool, (tx) => unchanged(tx, asked, now), { isolation: 'repeatable read', readOnly: true }),
  };
}

async function unchanged(tx: Tx, asked: RequestedAccounts, now: number): Promise<UnchangedAccounts> {
  const state = await tx.one<{ database: string; ledger_epoch: string }>(
    `SELECT ${DATABASE_IDENTITY_SQL} AS database, ledger_epoch FROM ledger_state`,
    [],
    { name: 'unchanged_state' },
  );
  if (state === null) throw new Error('ledger_state is empty');
  const changed = await changedAccounts(tx, asked);
  for (const account of await withOtherWindows(tx, asked, now)) changed.add(account);
  const versions = await readVersions(tx, asked);
  return {
    database: state.database,
    ledgerEpoch: state.ledger_epoch,
    accounts: versions.filter(({ account }) => !changed.has(account)),
  };
}

/**
 * Returns accounts with a named balance whose version differs. Without the LIMIT, PostgreSQL might
 * plan to read all balances of an account.
 */
async function changedAccounts(tx: Tx, asked: RequestedAccounts): Promise<Set<string>> {
  const named = asked.flatMap(({ account, rows }) => rows.map((row) => ({ account, ...row })));
  const rows = await tx.query<{ account: string }>(
    `SELECT DISTINCT named.account
       FROM unnest($1::text[], $2::text[], $3::bigint[]) AS named (account, name, version)
       LEFT JOIN LATERAL (
         SELECT version FROM balances
          WHERE account = named.account AND name = named.name LIMIT 1) AS kept ON true
      WHERE coalesce(kept.version, 0) <> named.version`,
    [
      texts(named.map(({ account }) => account)),
      texts(named.map(({ name }) => name)),
      int8s(named.map(({ version }) => version)),
    ],
    { name: 'unchanged_rows' },
  );
  return new Set(rows.map(({ account }) => account));
}

/** Returns accounts with a running or upcoming session or week that the request does not name. */
async function withOtherWindows(tx: Tx, asked: RequestedAccounts, now: number): Promise<string[]> {
  const named = new Map(asked.map(({ account, rows }) => [account, new Set(rows.map(({ name }) => name))]));
  const ranges = computeRunningRanges(now);
  const rows = await tx.query<{ account: string; name: string }>(
    `SELECT running.account, running.name
       FROM unnest($1::text[]) AS asked (account) CROSS JOIN unnest($2::text[], $3::text[]) AS rows (first, beyond)
       CROSS JOIN LATERAL (
         SELECT account, name FROM balances
          WHERE account = asked.account AND name >= rows.first AND name < rows.beyond
          ORDER BY name DESC LIMIT ${RUNNING_ROWS_MAX}) AS running`,
    [
      texts(asked.map(({ account }) => account)),
      texts(ranges.map(({ first }) => first)),
      texts(ranges.map(({ beyond }) => beyond)),
    ],
    { name: 'unchanged_windows' },
  );
  return rows.filter(({ account, name }) => named.get(account)?.has(name) !== true).map(({ account }) => account);
}

/** Returns account versions where the terms version matches; unknown accounts have version 0. */
async function readVersions(tx: Tx, asked: RequestedAccounts): Promise<{ account: string; version: number }[]> {
  const rows = await tx.query<{ account: string; version: bigint }>(
    `SELECT asked.account, coalesce(known.version, 0) AS version
       FROM unnest($1::text[], $2::bigint[]) AS asked (account, terms_version)
       LEFT JOIN LATERAL (
         SELECT version, terms_version FROM accounts WHERE account = asked.account LIMIT 1) AS known ON true
      WHERE coalesce(known.terms_version, 0) = asked.terms_version`,
    [texts(asked.map(({ account }) => account)), int8s(asked.map(({ termsVersion }) => termsVersion))],
    { name: 'unchanged_accounts' },
  );
  return rows.map(({ account, version }) => ({ account, version: Number(version) }));
}
