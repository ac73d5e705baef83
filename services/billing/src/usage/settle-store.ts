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
import { type AlertRaiser, createAlertRaiser, type ReachedThresholds } from '../alerts/raise-store.js';
import { addMissingAccounts, lockWithLimits, writeVersions } from '../ledger/accounts-store.js';
import { appendChainBlocks, lockChainHeads } from '../ledger/chain-store.js';
import { enqueueSnapshot, readBalances, updateBalances, writeBalances } from '../ledger/store.js';
import type { Balance } from '../ledger/rules.js';
import { addToHours } from '../records/hours-store.js';
import {
  addNames,
  createNames,
  type NameNumbers,
  type Names,
  readDatabaseMark,
  readNumbers,
} from '../records/names-store.js';
import { listNames, type Numbers } from '../records/columns-sql.js';
import type { UsageRecord } from '../records/rules.js';
import { insertRecords, readRecords } from '../records/store.js';
import type { BatchDecision, LedgerRead } from './batch-ledger-rules.js';
import { runInOrder, type Pipeline, selectPipeline } from './pipeline-store.js';
import { type SettledMessage, insertApplied } from './progress-store.js';
import type { DeadLetter } from './rules.js';
import { buildCorrectionSnapshots } from './snapshot-rules.js';

export interface SettleRequest {
  readonly accounts: ReadonlySet<string>;
  readonly ids: readonly string[];
  /** Returns the balances to read, as names by account, from the existing records of the IDs. */
  readonly rowsOf: (known: ReadonlyMap<string, UsageRecord>) => ReadonlyMap<string, ReadonlySet<string>>;
  /** A pure function; called again when the transaction is retried. */
  readonly decide: (read: LedgerRead) => BatchDecision;
  readonly applied: readonly SettledMessage[];
}

export interface SettleStore {
  /** One transaction: locks the accounts in sorted order, reads, decides, writes, commits. */
  settle(request: SettleRequest): Promise<BatchDecision>;
  /** Returns false if the month was dropped or is invalid. Idempotent. */
  ensureMonth(month: string): Promise<boolean>;
}

/** The connection's database is not yet compared with the stream; the settlement is retried. */
class UnverifiedDatabaseError extends Error {
  override readonly name = 'UncheckedDatabase';
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
export function createSettleStore(
  pool: Pool,
  nudge: () => void = () => undefined,
  mayUse: (database: string) => boolean = () => true,
): SettleStore {
  const queries = onPool(pool);
  const known: SettleMemory = { alerts: createAlertRaiser(), names: createNames(), mayUse };
  const pipeline = selectPipeline(pool);
  return {
    async settle(request) {
      const { decision, reached, names } = await inTransaction(pool, (tx) => settleIn(tx, request, known, pipeline));
      known.names.committed(names);
      known.alerts.committed(reached);
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
export interface SettleMemory {
  readonly alerts: AlertRaiser;
  readonly names: Names;
  readonly mayUse: (database: string) => boolean;
}

/**
 * Settles in the given transaction. It takes the locks first, so that all later reads see the
 * commit of the previous lock holder. Independent statements are sent together if the connection is
 * pipelined.
 */
export async function settleIn(
  tx: Tx,
  { accounts, ids, rowsOf, decide, applied }: SettleRequest,
  memory: SettleMemory,
  pipeline: Pipeline = runInOrder,
): Promise<{ decision: BatchDecision; reached: ReachedThresholds; names: NameNumbers }> {
  const names = [...accounts];
  const { locked, known, database } = await pipeline({
    added: async () => (names.length > 0 ? addMissingAccounts(tx, names) : undefined),
    locked: () => lockWithLimits(tx, names),
    known: () => readRecords(tx, ids),
    database: () => readDatabaseMark(tx),
  });
  if (!memory.mayUse(database)) throw new UnverifiedDatabaseError('the database is not yet compared with the stream');
  const { versions, limits } = locked;
  const rows = await readBalances(tx, rowsOf(known));
  const decision = decide({ known, versions, rows });
  const reached = await memory.alerts.raise(tx, { decision, before: rows, limits, database });
  const wanted = decision.records.flatMap(({ record }) => listNames(record));
  const { numbers, unknown } = memory.names.recall(wanted, database);
  const found = await findNames(tx, unknown, pipeline);
  for (const [name, number] of found) numbers.set(name, number);
  await write(tx, { decision, read: rows, applied, numbers: { accounts: locked.numbers, names: numbers } }, pipeline);
  return { decision, reached, names: { database, found } };
}

async function findNames(tx: Tx, names: readonly string[], pipeline: Pipeline): Promise<Map<string, number>> {
  if (names.length === 0) return new Map();
  const found = await readNumbers(tx, names);
  const missing = names.filter((name) => !found.has(name));
  if (missing.length === 0) return found;
  const { given } = await pipeline({ added: () => addNames(tx, missing), given: () => readNumbers(tx, missing) });
  return new Map([...found, ...given]);
}

interface Writes extends Pick<SettleRequest, 'applied'> {
  readonly decision: BatchDecision;
  /** The balances before the batch. */
  readonly read: readonly Balance[];
  readonly numbers: Numbers;
}

/**
 * Writes the decision. A record is the ledger transaction of its call, so only its chain link is
 * written in addition.
 */
async function write(tx: Tx, { decision, read, applied, numbers }: Writes, pipeline: Pipeline): Promise<void> {
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
export async function insertDeadLetters(tx: Tx, events: readonly DeadLetter[]): Promise<void> {
  for (const event of events) {
    await tx.execute(
      `INSERT INTO set_aside_events
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
      { name: 'insert_set_aside' },
    );
  }
}
