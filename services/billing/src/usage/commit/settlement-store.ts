import { shardOfAccount } from '@gateway/contracts/ids';
import {
  inTransaction,
  isConnectionFault,
  isDataFault,
  onPool,
  type Pool,
  sqlStateOf,
  type Tx,
} from '@gateway/postgres';
import { type AlertRaiser, createAlertRaiser, type ReachedThresholds } from '../../alerts/raise-store.js';
import { writeVersions } from '../../ledger/accounts-store.js';
import { appendChainBlocks, lockChainHeads } from '../../ledger/chain-store.js';
import type { Balance } from '../../ledger/rules.js';
import { enqueueSnapshot, updateBalances, writeBalances } from '../../ledger/store.js';
import { listNames, type Numbers } from '../../records/columns-sql.js';
import { addToHours } from '../../records/hours-store.js';
import { addNames, createNames, type NameNumbers, type Names, readNumbers } from '../../records/names-store.js';
import { insertRecords } from '../../records/store.js';
import type { SettledMessage } from '../../stream/progress-rules.js';
import { insertApplied } from '../../stream/progress-store.js';
import type { BatchDecision, LedgerRead } from '../decide/batch-ledger-rules.js';
import { buildCorrectionSnapshots } from '../decide/snapshot-rules.js';
import { type LedgerQuery, type LockedLedger, readLedger, UnverifiedDatabaseError } from '../read/ledger-store.js';
import type { DeadLetter } from '../rules.js';
import { type Pipeline, runInOrder, selectPipeline } from './pipeline-store.js';

/** One settlement: reads, then writes, in one database transaction. */
export interface Settlement {
  /** Locks the accounts in sorted order, and reads. Call it once, before `write`. */
  read(query: LedgerQuery): Promise<LedgerRead>;
  /**
   * Writes the decision about the data that was read.
   * @param applied messages whose events are settled by this transaction
   */
  write(decision: BatchDecision, applied: readonly SettledMessage[]): Promise<void>;
}

export interface SettlementStore {
  /**
   * Runs `work` in one transaction, and commits. If the transaction is retried, `work` runs again.
   * @returns the decision that `work` returned
   */
  commit(work: (settlement: Settlement) => Promise<BatchDecision>): Promise<BatchDecision>;
  /** Returns false if the month was dropped or is invalid. Idempotent. */
  ensureMonth(month: string): Promise<boolean>;
}

/**
 * Returns true if the database as a whole does not work: no connection, a missing table, a missing
 * privilege. Any other error (rejected data, a fault in our code) depends on the request and would
 * occur again.
 */
export function isInfrastructureFault(error: unknown): boolean {
  return (
    error instanceof UnverifiedDatabaseError ||
    isConnectionFault(error) ||
    (sqlStateOf(error) !== null && !isDataFault(error))
  );
}

/**
 * @param mayUse returns true if the database of a connection is the ledger (docs/protocol.md#r17)
 * @param nudge called after a commit whose charges reached thresholds: the outboxes may have alerts
 */
export function createSettlementStore(
  pool: Pool,
  nudge: () => void = () => undefined,
  mayUse: (database: string) => boolean = () => true,
): SettlementStore {
  const queries = onPool(pool);
  const caches = createCaches(mayUse);
  const pipeline = selectPipeline(pool);
  return {
    async commit(work) {
      const { decision, found } = await inTransaction(pool, async (tx) => {
        const settlement = new LedgerSettlement(tx, caches, pipeline);
        return { decision: await work(settlement), found: settlement.found };
      });
      const { names, reached } = found;
      if (names !== null) caches.names.committed(names);
      caches.alerts.committed(reached);
      if (reached.length > 0) nudge();
      return decision;
    },
    async ensureMonth(month) {
      const row = await queries.one<{ kept: boolean }>(`SELECT ensure_month(($1 || '-01')::date) AS kept`, [month]);
      return row?.kept === true;
    },
  };
}

/** Caches of a process that outlive one settlement. */
interface SettlementCaches {
  readonly alerts: AlertRaiser;
  readonly names: Names;
  readonly mayUse: (database: string) => boolean;
}

export function createCaches(mayUse: (database: string) => boolean = () => true): SettlementCaches {
  return { alerts: createAlertRaiser(), names: createNames(), mayUse };
}

/**
 * A settlement in the given transaction. Independent statements are sent together if the connection
 * is pipelined.
 */
export class LedgerSettlement implements Settlement {
  #locked: LockedLedger | null = null;
  #found: { readonly names: NameNumbers | null; readonly reached: ReachedThresholds } = { names: null, reached: [] };

  constructor(
    private readonly tx: Tx,
    private readonly caches: SettlementCaches,
    private readonly pipeline: Pipeline = runInOrder,
  ) {}

  /** Numbers of names and reached thresholds, to be cached after the commit. */
  get found(): { readonly names: NameNumbers | null; readonly reached: ReachedThresholds } {
    return this.#found;
  }

  async read(query: LedgerQuery): Promise<LedgerRead> {
    this.#locked = await readLedger(this.tx, query, this.caches.mayUse, this.pipeline);
    return this.#locked;
  }

  async write(decision: BatchDecision, applied: readonly SettledMessage[]): Promise<void> {
    if (this.#locked === null) throw new Error('a settlement is read before it is written');
    const { tx, caches, pipeline } = this;
    const { rows, limits, database, accountNumbers } = this.#locked;
    const reached = await caches.alerts.raise(tx, { decision, before: rows, limits, database });
    const wanted = decision.records.flatMap(({ record }) => listNames(record));
    const { numbers, unknown } = caches.names.recall(wanted, database);
    const found = await findNames(tx, unknown, pipeline);
    for (const [name, number] of found) numbers.set(name, number);
    this.#found = { names: { database, found }, reached };
    await writeDecision(
      tx,
      { decision, read: rows, applied, numbers: { accounts: accountNumbers, names: numbers } },
      pipeline,
    );
  }
}

async function findNames(tx: Tx, names: readonly string[], pipeline: Pipeline): Promise<Map<string, number>> {
  if (names.length === 0) return new Map();
  const found = await readNumbers(tx, names);
  const missing = names.filter((name) => !found.has(name));
  if (missing.length === 0) return found;
  const { given } = await pipeline({ added: () => addNames(tx, missing), given: () => readNumbers(tx, missing) });
  return new Map([...found, ...given]);
}

interface Writes {
  readonly decision: BatchDecision;
  /** The balances before the batch. */
  readonly read: readonly Balance[];
  readonly applied: readonly SettledMessage[];
  readonly numbers: Numbers;
}

/**
 * Writes the decision. A record is the ledger transaction of its call, so only its chain link is
 * written in addition.
 */
async function writeDecision(tx: Tx, { decision, read, applied, numbers }: Writes, pipeline: Pipeline): Promise<void> {
  const { records, transactions, changedRows, accountVersions, deadLetters } = decision;
  const posts = transactions.length > 0;
  const known = new Set(read.map(({ account, name }) => `${account} ${name}`));
  const isRead = ({ account, name }: Balance): boolean => known.has(`${account} ${name}`);
  const { heads } = await pipeline({
    records: () => insertRecords(tx, records, numbers),
    hours: () =>
      addToHours(
        tx,
        records.map(({ record }) => record),
      ),
    balances: () => updateBalances(tx, changedRows.filter(isRead)),
    newBalances: () =>
      writeBalances(
        tx,
        changedRows.filter((row) => !isRead(row)),
      ),
    versions: () => writeVersions(tx, accountVersions),
    deadLetters: () => insertDeadLetters(tx, deadLetters),
    applied: () => insertApplied(tx, applied),
    heads: async () => (posts ? lockChainHeads(tx, transactions) : []),
  });
  if (posts) await appendChainBlocks(tx, heads, transactions);
  for (const snapshot of buildCorrectionSnapshots(decision)) {
    const [id = snapshot.account] = snapshot.closed;
    await enqueueSnapshot(tx, id, snapshot);
  }
}

/** The shard is the account's; without an account, the number of the subject. */
async function insertDeadLetters(tx: Tx, events: readonly DeadLetter[]): Promise<void> {
  for (const event of events) {
    await tx.execute(
      `INSERT INTO dead_letters
         (content_hash, request_id, account, shard, stream_sequence, reason, detail, event)
       VALUES (decode($1, 'hex'), $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
      [
        event.contentHash,
        event.requestId,
        event.account,
        event.account === null ? event.origin.subject : shardOfAccount(event.account),
        event.origin.sequence,
        event.reason,
        event.detail,
        event.event,
      ],
      { name: 'insert_dead_letters' },
    );
  }
}
