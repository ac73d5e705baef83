import { toBalanceMessage, type Balance, type LedgerTransaction } from '@gateway/billing/ledger/rules.js';
import { NO_OVERRIDES, type Subscription } from '@gateway/billing/subscriptions/terms-rules.js';
import { decideWalletEntry } from '@gateway/billing/wallets/rules.js';
import type { AccountSnapshot, LoadStore } from '@gateway/billing/accounts/load-store.js';
import type { UnchangedStore } from '@gateway/billing/accounts/unchanged-store.js';
import type { UsageRecord } from '@gateway/billing/records/rules.js';
import type { BatchDecision } from '@gateway/billing/usage/decide/batch-ledger-rules.js';
import type { LedgerSnapshotState } from '@gateway/billing/recovery/lost-commits-rules.js';
import type { SettledPosition } from '@gateway/billing/stream/progress-rules.js';
import type { DeadLetter } from '@gateway/billing/usage/rules.js';
import type { SettlementStore } from '@gateway/billing/usage/commit/settlement-store.js';
import { WALLET_ROW } from '@gateway/metering';
import type { BalanceSnapshot } from '@gateway/contracts/messages';
import { testEpoch } from '@gateway/testkit/random';
import { Host } from '../time/host.js';

interface AccountRow {
  readonly version: bigint;
  readonly termsVersion: number;
  readonly subscription: Subscription | null;
}

/** A change that is sent to admission. `taken` is called when admission has confirmed it. */
export interface OutboxRow {
  readonly snapshot: BalanceSnapshot;
  readonly taken: () => void;
}

/** The most commits that a promotion may lose. */
const COPIES_MAX = 20;

/** The database failed. It is unknown whether the transaction was committed. */
export class DatabaseDown extends Error {
  override readonly name = 'DatabaseDown';
}

/** The ledger's tables, with the database's constraints. A transaction is one call. */
export class MemoryLedger {
  readonly host = new Host('postgres');
  epoch = testEpoch(1);
  /** Increases with each promotion. Copies do not contain it. */
  timeline = 1;
  records = new Map<string, UsageRecord>();
  transactions = new Map<string, LedgerTransaction>();
  rows = new Map<string, ReadonlyMap<string, Balance>>();
  outbox: readonly OutboxRow[] = [];
  #epochs = 1;
  /** Restore the data before each of the last commits of usage. */
  #copies: (() => void)[] = [];
  private deadLetters: readonly DeadLetter[] = [];
  private accounts = new Map<string, AccountRow>();
  /** Times of settled messages after the floor, by sequence. */
  private applied = new Map<number, number>();
  private floor: SettledPosition = { sequence: 0, storedAtMs: 0 };

  /** Whether the database cannot be reached. */
  isAway(now: number): boolean {
    return this.host.cutUntil > now;
  }

  /** Returns the ledger for a query. @throws DatabaseDown while the database cannot be reached */
  reached(now: number): this {
    if (this.isAway(now)) throw new DatabaseDown('away');
    return this;
  }

  /** Runs a settlement. No virtual time passes in it, so no other transaction runs in between. */
  settle(work: Parameters<SettlementStore['commit']>[0]): Promise<BatchDecision> {
    this.#copies = [...this.#copies, this.#copy()].slice(-COPIES_MAX);
    return work({
      read: async ({ accounts, ids, rowsOf }) => {
        const known = new Map(ids.flatMap((id) => this.records.get(id) ?? []).map((record) => [record.id, record]));
        const wanted = [...rowsOf(known)];
        const rows = wanted.flatMap(([account, names]) => [...names].flatMap((name) => this.row(account, name) ?? []));
        const versions = new Map([...accounts].map((account) => [account, this.#account(account).version]));
        return { known, versions, rows };
      },
      write: async (decision, applied) => {
        this.#write(decision);
        for (const { sequence, storedAtMs } of applied) this.applied.set(sequence, storedAtMs);
        for (;;) {
          const sequence = this.floor.sequence + 1;
          const storedAtMs = this.applied.get(sequence);
          if (storedAtMs === undefined) return;
          this.applied.delete(sequence);
          this.floor = { sequence, storedAtMs };
        }
      },
    });
  }

  /** Adds a credit, or a chargeback if the amount is negative. @returns null if it was refused */
  addEntry(account: string, amountNanoUsd: bigint, id: string): BalanceSnapshot | null {
    const kind = amountNanoUsd < 0n ? ('chargeback' as const) : ('credit' as const);
    const entry = { account, amountNanoUsd, kind, reason: 'x', reference: id, relatesTo: null, actor: 'operator' };
    const balanceNanoUsd = this.row(account, WALLET_ROW)?.value ?? 0n;
    const decision = decideWalletEntry(entry, { earlier: null, related: null, balanceNanoUsd, closed: false });
    if (decision.kind !== 'write') return null;
    const version = this.#account(account).version + 1n;
    const row = { account, name: WALLET_ROW, value: decision.balanceNanoUsd, version };
    this.#post([{ id, kind, account, requestId: null, corrects: null, entries: decision.entries }]);
    this.#put(row);
    this.#setAccount(account, { version });
    this.#copies = [];
    return { account, rows: [toBalanceMessage(row)], closed: [] };
  }

  setSubscription(account: string, subscription: Subscription | null): void {
    this.#setAccount(account, { subscription, termsVersion: this.#account(account).termsVersion + 1 });
    this.#copies = [];
  }

  /**
   * Promotes a standby that lacks the last `commits` commits of usage, while the bus has
   * acknowledged later events (docs/decisions/0018). Every standby has the last command: a lost
   * command is reported and not restored, so a run could not know the right result.
   * @returns how many commits are lost
   */
  promote(commits: number): number {
    const lost = Math.min(commits, this.#copies.length);
    if (lost > 0) this.#copies.at(-lost)?.();
    this.#copies = [];
    this.timeline += 1;
    return lost;
  }

  /** Copies all committed data. @returns a function that restores it */
  #copy(): () => void {
    const { epoch, records, transactions, rows, outbox, deadLetters, accounts, applied, floor } = this;
    const maps = { records, transactions, rows, accounts, applied };
    const copies = Object.entries(maps).map(([name, map]) => [name, new Map<unknown, unknown>(map)]);
    return () => void Object.assign(this, { epoch, outbox, deadLetters, floor, ...Object.fromEntries(copies) });
  }

  /** The identity that the database reports. A promoted database has another one. */
  get database(): string {
    return `database-${this.timeline} ${this.epoch}`;
  }

  readState(upTo: number): LedgerSnapshotState {
    const missing: { from: number; to: number }[] = [];
    for (let at = this.floor.sequence + 1; at <= upTo; at += 1)
      if (!this.applied.has(at)) missing.push({ from: at, to: at });
    const { database, timeline, epoch: ledgerEpoch, floor: settled } = this;
    const blocks = this.transactions.size;
    return { database, timeline, ledgerEpoch, consumers: 'restore-1', blocks, logBytes: blocks, settled, missing };
  }

  /** Begins a new epoch, unless another worker has begun one since. */
  beginEpochAfter(former: string): string | null {
    if (this.epoch !== former) return null;
    return (this.epoch = testEpoch((this.#epochs += 1)));
  }

  settledPosition(): SettledPosition {
    return this.floor;
  }

  snapshot({ account, names, ids }: Parameters<LoadStore['snapshot']>[0]): AccountSnapshot {
    const { version, termsVersion, subscription } = this.#account(account);
    const known = this.rows.get(account) ?? new Map<string, Balance>();
    const running = [...known.keys()].filter((name) => /^(w|al):/.test(name));
    const wanted = new Set([WALLET_ROW, ...names, ...running]);
    const asideIds = new Set(this.deadLetters.map(({ requestId }) => requestId));
    return {
      database: this.database,
      ledgerEpoch: this.epoch,
      version: Number(version),
      termsVersion,
      published: { current: subscription, next: null },
      limits: NO_OVERRIDES,
      rows: [...wanted].map((name) => {
        const row = known.get(name);
        return row ? toBalanceMessage(row) : { name, value: name === WALLET_ROW ? null : 0, version: 0 };
      }),
      closed: ids.filter((id) => this.records.has(id) || asideIds.has(id)),
    };
  }

  unchanged(asked: Parameters<UnchangedStore['unchanged']>[0]): Awaited<ReturnType<UnchangedStore['unchanged']>> {
    const isSame = ({ account, termsVersion, rows }: (typeof asked)[number]): boolean => {
      const known = this.rows.get(account) ?? new Map<string, Balance>();
      const named = new Map(rows.map(({ name, version }) => [name, version]));
      return (
        this.#account(account).termsVersion === termsVersion &&
        [...named].every(([name, version]) => Number(known.get(name)?.version ?? 0n) === version) &&
        [...known.keys()].every((name) => !/^w:(session|week)/.test(name) || named.has(name))
      );
    };
    return {
      database: this.database,
      ledgerEpoch: this.epoch,
      accounts: asked
        .filter(isSame)
        .map(({ account }) => ({ account, version: Number(this.#account(account).version) })),
    };
  }

  row(account: string, name: string): Balance | undefined {
    return this.rows.get(account)?.get(name);
  }

  #write({ records, transactions, changedRows, accountVersions, deadLetters }: BatchDecision): void {
    for (const { record, replaces } of records) {
      if (replaces !== this.records.has(record.id))
        throw new Error(`the record ${record.id} exists unexpectedly, or is missing`);
    }
    this.#post(transactions);
    for (const { record } of records) this.records.set(record.id, record);
    for (const row of changedRows) this.#put(row);
    for (const [account, version] of accountVersions) this.#setAccount(account, { version });
    this.deadLetters = [...this.deadLetters, ...deadLetters];
  }

  /** Enforces the database's constraints: unique keys, and entries that balance. */
  #post(transactions: readonly LedgerTransaction[]): void {
    for (const { id, entries } of transactions) {
      if (this.transactions.has(id)) throw new Error(`the transaction ${id} exists already`);
      const sum = entries.reduce((total, { amountNanoUsd }) => total + amountNanoUsd, 0n);
      if (sum !== 0n) throw new Error(`the transaction ${id} sums to ${sum}`);
    }
    for (const transaction of transactions) this.transactions.set(transaction.id, transaction);
  }

  #put(row: Balance): void {
    this.rows.set(row.account, new Map(this.rows.get(row.account)).set(row.name, row));
  }

  #account(account: string): AccountRow {
    return this.accounts.get(account) ?? { version: 0n, termsVersion: 0, subscription: null };
  }

  #setAccount(account: string, changes: Partial<AccountRow>): void {
    this.accounts.set(account, { ...this.#account(account), ...changes });
  }
}
