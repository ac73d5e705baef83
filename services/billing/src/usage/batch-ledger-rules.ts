import { AMOUNT_NANO_USD_MAX } from '@gateway/metering';
import type { BalanceRow, LedgerTransaction } from '../ledger/rules.js';
import type { UsageRecord } from '../records/rules.js';
import type { Effect } from './postings-rules.js';
import type { SetAside } from './rules.js';

/** What became of one event. */
export type EventOutcome = 'settled' | 'voided' | 'expired' | 'repeated' | 'outranked' | 'set_aside';

/**
 * An id that a standing names as closed, with the rows that its record touched
 * (docs/protocol.md#r8).
 */
export interface ClosedId {
  readonly account: string;
  readonly id: string;
  readonly rows: readonly string[];
}

export interface RecordWrite {
  readonly record: UsageRecord;
  /** A record of a lower rank is there and is replaced. */
  readonly replaces: boolean;
}

/** Everything that one database transaction writes, and what is told of it afterwards. */
export interface BatchDecision {
  readonly records: readonly RecordWrite[];
  readonly transactions: readonly LedgerTransaction[];
  readonly changedRows: readonly BalanceRow[];
  readonly accountVersions: ReadonlyMap<string, bigint>;
  readonly setAside: readonly SetAside[];
  readonly closed: readonly ClosedId[];
  /** All rows that `closed` names and that exist, as they are after this batch, by account. */
  readonly rowsAfter: ReadonlyMap<string, ReadonlyMap<string, BalanceRow>>;
  readonly outcomes: readonly EventOutcome[];
}

/** What was read of the ledger for one batch, under the locks of its accounts. */
export interface BooksRead {
  /** Records of the batch's ids. */
  readonly known: ReadonlyMap<string, UsageRecord>;
  /** Versions of the batch's accounts. */
  readonly versions: ReadonlyMap<string, bigint>;
  readonly rows: readonly BalanceRow[];
}

/** The books while a batch is decided: later events see what earlier ones of the batch did. */
export interface Books {
  known(id: string): UsageRecord | undefined;
  /** Whether every row and entry stays within the bounds of the wire. */
  fits(account: string, effect: Effect): boolean;
  write(write: RecordWrite, transaction: LedgerTransaction | null, effect: Effect): void;
  setAside(event: SetAside): void;
  /** Names an id as closed, together with the rows of an effect; several times for one id adds rows. */
  close(record: Pick<UsageRecord, 'account' | 'id'>, effect: Effect): void;
  result(): Omit<BatchDecision, 'outcomes'>;
}

export function makeBooks(read: BooksRead): Books {
  const records = new Map<string, RecordWrite>();
  const transactions: LedgerTransaction[] = [];
  const setAsideEvents: SetAside[] = [];
  const closed = new Map<string, { account: string; rows: Set<string> }>();
  const rows = rowsByAccount(read.rows);
  const changed = new Map<string, Set<string>>();

  const changedRows = (): BalanceRow[] =>
    [...changed].flatMap(([account, names]) =>
      [...names].map((name) => {
        const row = { ...valueOf(rows, account, name), version: (read.versions.get(account) ?? 0n) + 1n };
        rows.get(account)?.set(name, row);
        return row;
      }),
    );

  return {
    known: (id) => records.get(id)?.record ?? read.known.get(id),
    fits: (account, { entries, rows: changes }) =>
      [...entries.values()].every(isWithinBounds) &&
      [...changes].every(([name, change]) => isWithinBounds(valueOf(rows, account, name).value + change)),
    write({ record, replaces }, transaction, effect) {
      const earlier = records.get(record.id);
      records.set(record.id, { record, replaces: earlier === undefined ? replaces : earlier.replaces });
      if (transaction !== null) transactions.push(transaction);
      const { account } = record;
      for (const [name, change] of effect.rows) {
        const row = valueOf(rows, account, name);
        place(rows, { ...row, value: row.value + change });
        changed.set(account, (changed.get(account) ?? new Set()).add(name));
      }
    },
    setAside: (event) => void setAsideEvents.push(event),
    close({ account, id }, effect) {
      const entry = closed.get(id) ?? { account, rows: new Set<string>() };
      for (const name of effect.rows.keys()) entry.rows.add(name);
      closed.set(id, entry);
    },
    result() {
      const changedNow = changedRows();
      const accountVersions = new Map(
        [...changed.keys()].map((account) => [account, (read.versions.get(account) ?? 0n) + 1n]),
      );
      return {
        records: [...records.values()],
        transactions,
        changedRows: changedNow,
        accountVersions,
        setAside: setAsideEvents,
        closed: [...closed].map(([id, entry]): ClosedId => ({ id, account: entry.account, rows: [...entry.rows] })),
        rowsAfter: rows,
      };
    },
  };
}

type RowsByAccount = Map<string, Map<string, BalanceRow>>;

function rowsByAccount(read: readonly BalanceRow[]): RowsByAccount {
  const rows: RowsByAccount = new Map();
  for (const row of read) place(rows, row);
  return rows;
}

function place(rows: RowsByAccount, row: BalanceRow): void {
  const ofAccount = rows.get(row.account) ?? new Map<string, BalanceRow>();
  rows.set(row.account, ofAccount.set(row.name, row));
}

/** A row that was never written has the value and the version 0. */
function valueOf(rows: RowsByAccount, account: string, name: string): BalanceRow {
  return rows.get(account)?.get(name) ?? { account, name, value: 0n, version: 0n };
}

function isWithinBounds(value: bigint): boolean {
  return value >= -AMOUNT_NANO_USD_MAX && value <= AMOUNT_NANO_USD_MAX;
}
