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
import { type AlertRaiser, createAlertRaiser, type Reached } from '../alerts/raise-store.js';
import { addMissingAccounts, lockWithLimits, writeVersions } from '../ledger/accounts-store.js';
import { appendChainBlocks, lockChainHeads } from '../ledger/chain-store.js';
import { enqueueSnapshot, postTransactions, readBalances, writeBalances } from '../ledger/store.js';
import { addToHours } from '../records/hours-store.js';
import type { UsageRecord } from '../records/rules.js';
import { insertRecords, readRecords, replaceRecords } from '../records/store.js';
import type { BatchDecision, LedgerRead } from './batch-ledger-rules.js';
import { oneByOne, type Pipeline, pipelineOf } from './pipeline-store.js';
import { type AppliedMessage, insertApplied } from './progress-store.js';
import type { DeadLetter } from './rules.js';
import { correctionSnapshots } from './snapshot-rules.js';

export interface SettleRequest {
  readonly accounts: ReadonlySet<string>;
  readonly ids: readonly string[];
  /** The rows to read, once the records of the ids are known: names by account. */
  readonly rowsOf: (known: ReadonlyMap<string, UsageRecord>) => ReadonlyMap<string, ReadonlySet<string>>;
  /** Pure; may be called again when the transaction is repeated. */
  readonly decide: (read: LedgerRead) => BatchDecision;
  readonly applied: readonly AppliedMessage[];
}

export interface SettleStore {
  /** One database transaction: lock the accounts in sorted order, read, decide, write, commit. */
  settle(request: SettleRequest): Promise<BatchDecision>;
  /** False: the month was dropped or is not real; its events cannot be kept. Repeatable. */
  ensureMonth(month: string): Promise<boolean>;
}

/**
 * Whether the database as a whole cannot work: no connection, no table, no right. Everything else
 * (refused data, a fault in our own code) lies in what was asked and comes back with the same
 * question.
 */
export function isInfrastructureFault(error: unknown): boolean {
  return isConnectionFault(error) || (sqlStateOf(error) !== null && !isDataFault(error));
}

/**
 * @param nudge called after a commit whose charges reached thresholds: the outboxes may have alerts
 */
export function createSettleStore(pool: Pool, nudge: () => void = () => undefined): SettleStore {
  const queries = onPool(pool);
  const alerts = createAlertRaiser();
  const pipeline = pipelineOf(pool);
  return {
    async settle(request) {
      const { decision, reached } = await inTransaction(pool, (tx) => settleIn(tx, request, alerts, pipeline));
      alerts.committed(reached);
      if (reached.length > 0) nudge();
      return decision;
    },
    async ensureMonth(month) {
      const row = await queries.one<{ kept: boolean }>(`SELECT ensure_month(($1 || '-01')::date) AS kept`, [month]);
      return row?.kept === true;
    },
  };
}

/**
 * The locks come first: whatever is read after them is what the last holder of the lock has
 * committed. Statements that do not wait for each other's answers are sent at once on a connection
 * that takes them so.
 */
export async function settleIn(
  tx: Tx,
  { accounts, ids, rowsOf, decide, applied }: SettleRequest,
  alerts: AlertRaiser,
  pipeline: Pipeline = oneByOne,
): Promise<{ decision: BatchDecision; reached: Reached }> {
  const names = [...accounts];
  const { locked, known } = await pipeline({
    added: async () => (names.length > 0 ? addMissingAccounts(tx, names) : undefined),
    locked: () => lockWithLimits(tx, names),
    known: () => readRecords(tx, ids),
  });
  const { versions, limits } = locked;
  const rows = await readBalances(tx, rowsOf(known));
  const decision = decide({ known, versions, rows });
  const reached = await alerts.raise(tx, { decision, before: rows, limits });
  await write(tx, decision, applied, pipeline);
  return { decision, reached };
}

async function write(
  tx: Tx,
  decision: BatchDecision,
  applied: SettleRequest['applied'],
  pipeline: Pipeline,
): Promise<void> {
  const { records, transactions, changedRows, accountVersions, deadLetters } = decision;
  const added = records.flatMap(({ record, replaces }) => (replaces ? [] : [record]));
  const replacing = records.flatMap(({ record, replaces }) => (replaces ? [record] : []));
  const posts = transactions.length > 0;
  const { heads } = await pipeline({
    added: () => insertRecords(tx, added),
    replaced: () => replaceRecords(tx, replacing),
    hours: () => addToHours(tx, [...added, ...replacing]),
    balances: () => writeBalances(tx, changedRows),
    versions: () => writeVersions(tx, accountVersions),
    deadLetters: () => insertDeadLetters(tx, deadLetters),
    applied: () => insertApplied(tx, applied),
    posted: async () => (posts ? postTransactions(tx, transactions) : undefined),
    heads: async () => (posts ? lockChainHeads(tx, transactions) : []),
  });
  if (posts) await appendChainBlocks(tx, heads, transactions);
  for (const snapshot of correctionSnapshots(decision)) {
    const [id = snapshot.account] = snapshot.closed;
    await enqueueSnapshot(tx, id, snapshot);
  }
}

/** The shard is that of the account; of what names none, the number of the subject. */
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
