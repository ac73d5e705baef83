import { AMOUNT_NANO_USD_MAX } from '@gateway/metering';
import type { Balance, LedgerTransaction } from '../../ledger/rules.js';
import type { UsageRecord } from '../../records/rules.js';
import type { Postings } from './postings-rules.js';
import type { DeadLetter } from '../rules.js';

export type EventOutcome = 'settled' | 'voided' | 'expired' | 'repeated' | 'outranked' | 'dead_letter';

/** An ID that a snapshot closes, with the balances of its record (docs/protocol.md#r8). */
export interface ClosedId {
  readonly account: string;
  readonly id: string;
  readonly rows: readonly string[];
}

export interface RecordWrite {
  readonly record: UsageRecord;
  /** The record with the lower rank, which was settled earlier and is kept. */
  readonly corrects: UsageRecord | null;
  /** True if a record of this ID existed before this batch. */
  readonly replaces: boolean;
}

/** Everything that one database transaction writes and that billing publishes afterwards. */
export interface BatchDecision {
  readonly records: readonly RecordWrite[];
  readonly transactions: readonly LedgerTransaction[];
  readonly changedRows: readonly Balance[];
  readonly accountVersions: ReadonlyMap<string, bigint>;
  readonly deadLetters: readonly DeadLetter[];
  readonly closed: readonly ClosedId[];
  /** All existing balances that `closed` lists, by account, with their values after this batch. */
  readonly rowsAfter: ReadonlyMap<string, ReadonlyMap<string, Balance>>;
  readonly outcomes: readonly EventOutcome[];
}

/** The part of the ledger that was read for one batch, under the locks of its accounts. */
export interface LedgerRead {
  /** Existing records of the batch's IDs. */
  readonly known: ReadonlyMap<string, UsageRecord>;
  /** Versions of the batch's accounts. */
  readonly versions: ReadonlyMap<string, bigint>;
  readonly rows: readonly Balance[];
}

/** The ledger during a decision: later events see the changes of earlier ones. */
export interface BatchLedger {
  known(id: string): UsageRecord | undefined;
  /** Returns true if every balance and entry stays within the bounds of the messages. */
  fits(account: string, postings: Postings): boolean;
  write(write: Omit<RecordWrite, 'replaces'>, transaction: LedgerTransaction | null, postings: Postings): void;
  addDeadLetter(event: DeadLetter): void;
  /** Marks an ID as closed and adds the balances of the postings to it. */
  close(record: Pick<UsageRecord, 'account' | 'id'>, postings: Postings): void;
  result(): Omit<BatchDecision, 'outcomes'>;
}

export function createBatchLedger(read: LedgerRead): BatchLedger {
  const records: RecordWrite[] = [];
  const latest = new Map<string, UsageRecord>(read.known);
  const transactions: LedgerTransaction[] = [];
  const deadLetters: DeadLetter[] = [];
  const closed = new Map<string, { account: string; rows: Set<string> }>();
  const rows = rowsByAccount(read.rows);
  const changed = new Map<string, Set<string>>();

  const changedRows = (): Balance[] =>
    [...changed].flatMap(([account, names]) =>
      [...names].map((name) => {
        const row = { ...valueOf(rows, account, name), version: (read.versions.get(account) ?? 0n) + 1n };
        rows.get(account)?.set(name, row);
        return row;
      }),
    );

  return {
    known: (id) => latest.get(id),
    fits: (account, { entries, rows: changes }) =>
      [...entries.values()].every(isWithinBounds) &&
      [...changes].every(([name, change]) => isWithinBounds(valueOf(rows, account, name).value + change)),
    write({ record, corrects }, transaction, postings) {
      records.push({ record, corrects, replaces: read.known.has(record.id) });
      latest.set(record.id, record);
      if (transaction !== null) transactions.push(transaction);
      const { account } = record;
      for (const [name, change] of postings.rows) {
        const row = valueOf(rows, account, name);
        place(rows, { ...row, value: row.value + change });
        changed.set(account, (changed.get(account) ?? new Set()).add(name));
      }
    },
    addDeadLetter: (event) => void deadLetters.push(event),
    close({ account, id }, postings) {
      const entry = closed.get(id) ?? { account, rows: new Set<string>() };
      for (const name of postings.rows.keys()) entry.rows.add(name);
      closed.set(id, entry);
    },
    result() {
      const changedNow = changedRows();
      const accountVersions = new Map(
        [...changed.keys()].map((account) => [account, (read.versions.get(account) ?? 0n) + 1n]),
      );
      return {
        records,
        transactions,
        changedRows: changedNow,
        accountVersions,
        deadLetters,
        closed: [...closed].map(([id, entry]): ClosedId => ({ id, account: entry.account, rows: [...entry.rows] })),
        rowsAfter: rows,
      };
    },
  };
}

type RowsByAccount = Map<string, Map<string, Balance>>;

function rowsByAccount(read: readonly Balance[]): RowsByAccount {
  const rows: RowsByAccount = new Map();
  for (const row of read) place(rows, row);
  return rows;
}

function place(rows: RowsByAccount, row: Balance): void {
  const ofAccount = rows.get(row.account) ?? new Map<string, Balance>();
  rows.set(row.account, ofAccount.set(row.name, row));
}

/** Returns value and version 0 for a balance that was never written. */
function valueOf(rows: RowsByAccount, account: string, name: string): Balance {
  return rows.get(account)?.get(name) ?? { account, name, value: 0n, version: 0n };
}

function isWithinBounds(value: bigint): boolean {
  return value >= -AMOUNT_NANO_USD_MAX && value <= AMOUNT_NANO_USD_MAX;
}
