import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { type AlertWatch, makeAlertWatch, type Reached } from '../alerts/raise-store.js';
import { appendChainBlocks, lockChainHeads } from '../ledger/chain-store.js';
import { enqueueStanding } from '../ledger/outbox-rows.js';
import {
  addMissingAccounts,
  insertApplied,
  insertRecords,
  insertSetAside,
  lockWithLimits,
  postTransactions,
  readRecords,
  readRows,
  replaceRecords,
  writeRows,
  writeVersions,
} from '../ledger/store.js';
import type { SettleRequest, SettleStore } from '../ports.js';
import { addToHours } from '../records/hours-store.js';
import type { BatchDecision } from './decide-rules.js';
import { isPipelined } from './pipelined-pool.js';
import { correctionStandings } from './snapshot-rules.js';

/** @param tellNow called after a commit whose charges reached thresholds: the outboxes may have alerts */
export function makeSettleStore(pool: Pool, tellNow: () => void = () => undefined): SettleStore {
  const queries = onPool(pool);
  const alerts = makeAlertWatch();
  const together = isPipelined(pool) ? pipelined : oneByOne;
  return {
    async settle(request) {
      const { decision, reached } = await inTransaction(pool, (tx) => settleIn(tx, request, alerts, together));
      alerts.committed(reached);
      if (reached.length > 0) tellNow();
      return decision;
    },
    async ensureMonth(month) {
      const row = await queries.one<{ kept: boolean }>(`SELECT ensure_month(($1 || '-01')::date) AS kept`, [month]);
      return row?.kept === true;
    },
  };
}

/**
 * The locks come first: whatever is read after them is what the last holder of the lock has committed. Statements that do
 * not wait for each other's answers are sent at once on a connection that takes them so.
 */
export async function settleIn(
  tx: Tx,
  { accounts, ids, rowsOf, decide, applied }: SettleRequest,
  alerts: AlertWatch,
  together: Together = oneByOne,
): Promise<{ decision: BatchDecision; reached: Reached }> {
  const names = [...accounts];
  const [, { versions, limits }, known] = await together([
    async () => (names.length > 0 ? addMissingAccounts(tx, names) : undefined),
    () => lockWithLimits(tx, names),
    () => readRecords(tx, ids),
  ]);
  const rows = await readRows(tx, rowsOf(known));
  const decision = decide({ known, versions, rows });
  const reached = await alerts.raise(tx, { decision, before: rows, limits });
  await write(tx, decision, applied, together);
  return { decision, reached };
}

async function write(
  tx: Tx,
  decision: BatchDecision,
  applied: SettleRequest['applied'],
  together: Together,
): Promise<void> {
  const { records, transactions, changedRows, accountVersions, setAside } = decision;
  const added = records.flatMap(({ record, replaces }) => (replaces ? [] : [record]));
  const replacing = records.flatMap(({ record, replaces }) => (replaces ? [record] : []));
  const posts = transactions.length > 0;
  const [, , , , , , , , heads] = await together([
    () => insertRecords(tx, added),
    () => replaceRecords(tx, replacing),
    () => addToHours(tx, [...added, ...replacing]),
    () => writeRows(tx, changedRows),
    () => writeVersions(tx, accountVersions),
    () => insertSetAside(tx, setAside),
    () => insertApplied(tx, applied),
    async () => (posts ? postTransactions(tx, transactions) : undefined),
    async () => (posts ? lockChainHeads(tx, transactions) : []),
  ]);
  if (posts) await appendChainBlocks(tx, heads, transactions);
  for (const standing of correctionStandings(decision)) {
    const [id = standing.account] = standing.closed;
    await enqueueStanding(tx, id, standing);
  }
}

/** Runs steps of one transaction in their order and gives their answers. */
type Together = <T extends readonly unknown[]>(steps: { [K in keyof T]: () => Promise<T[K]> }) => Promise<T>;

const oneByOne: Together = async <T extends readonly unknown[]>(steps: { [K in keyof T]: () => Promise<T[K]> }) => {
  const answers: unknown[] = [];
  for (const step of steps) answers.push(await step());
  return answers as unknown as T;
};

/** The server takes the statements in the order in which they are sent; after one that failed it refuses the others. */
const pipelined: Together = async <T extends readonly unknown[]>(steps: { [K in keyof T]: () => Promise<T[K]> }) =>
  (await Promise.all(steps.map((step) => step()))) as unknown as T;
