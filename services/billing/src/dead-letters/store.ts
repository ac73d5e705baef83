import { inTransaction, onPool, type Pool } from '@gateway/postgres';
import { enqueueSnapshot } from '../ledger/store.js';
import type { BatchDecision, EventOutcome } from '../usage/decide/batch-ledger-rules.js';
import type { DeadLetterReason } from '../usage/rules.js';
import {
  createCaches,
  createSettlementStore,
  LedgerSettlement,
  type Settlement,
} from '../usage/commit/settlement-store.js';
import { buildSnapshotMessages } from '../usage/decide/snapshot-rules.js';

export interface StoredDeadLetter {
  /** SHA-256, hexadecimal; identifies the dead letter. */
  readonly contentHash: string;
  readonly requestId: string | null;
  readonly account: string | null;
  readonly shard: number;
  readonly sequence: number;
  readonly reason: DeadLetterReason;
  readonly detail: string;
  readonly recordedAt: Date;
  readonly event: Buffer;
  /** Number of replays, and the outcomes of the last one. */
  readonly replays: number;
  readonly lastOutcomes: readonly EventOutcome[] | null;
}

const PAGE_MAX = 100;

interface Row {
  content_hash: string;
  request_id: string | null;
  account: string | null;
  shard: number;
  stream_sequence: bigint;
  reason: DeadLetterReason;
  detail: string;
  event: Buffer;
  recorded_at: Date;
  replays: bigint;
  last_outcomes: EventOutcome[] | null;
}

const SELECT = `
  SELECT encode(letter.content_hash, 'hex') AS content_hash, request_id, account, shard, stream_sequence, reason, detail,
         event, recorded_at, replay.replays, replay.last_outcomes
    FROM dead_letters letter
    CROSS JOIN LATERAL (
      SELECT count(*) AS replays, coalesce(bool_or(resolved), false) AS resolved,
             (SELECT outcomes FROM dead_letter_replays newest WHERE newest.content_hash = letter.content_hash
               ORDER BY replayed_at DESC LIMIT 1) AS last_outcomes
        FROM dead_letter_replays WHERE dead_letter_replays.content_hash = letter.content_hash
    ) replay`;

export type DeadLetterStore = ReturnType<typeof createDeadLetterStore>;

export function createDeadLetterStore(pool: Pool) {
  const queries = onPool(pool);
  const { ensureMonth } = createSettlementStore(pool);
  return {
    ensureMonth,
    /** Oldest first; includes resolved dead letters only if `all`. */
    async *list(all: boolean): AsyncIterable<StoredDeadLetter> {
      let after = { at: new Date(0), hash: '' };
      for (;;) {
        const rows = await queries.query<Row>(
          `${SELECT} WHERE (recorded_at, letter.content_hash) > ($1, decode($2, 'hex')) AND ($3 OR NOT replay.resolved)
            ORDER BY recorded_at, letter.content_hash LIMIT ${PAGE_MAX}`,
          [after.at, after.hash, all],
        );
        for (const row of rows) yield toStoredDeadLetter(row);
        const last = rows.at(-1);
        if (last === undefined || rows.length < PAGE_MAX) return;
        after = { at: last.recorded_at, hash: last.content_hash };
      }
    },
    async find(contentHash: string): Promise<StoredDeadLetter | null> {
      const row = await queries.one<Row>(`${SELECT} WHERE letter.content_hash = decode($1, 'hex')`, [contentHash]);
      return row === null ? null : toStoredDeadLetter(row);
    },
    /**
     * Settles the event by `settle`, records the replay and enqueues the balance snapshots for
     * admission, in one database transaction.
     */
    replay: (
      contentHash: string,
      actor: string,
      settle: (settlement: Settlement) => Promise<BatchDecision>,
    ): Promise<BatchDecision> =>
      inTransaction(pool, async (tx) => {
        const decision = await settle(new LedgerSettlement(tx, createCaches()));
        const { outcomes, closed, rowsAfter } = decision;
        await tx.execute(
          `INSERT INTO dead_letter_replays (content_hash, actor, outcomes, resolved) VALUES (decode($1, 'hex'), $2, $3, $4)`,
          [contentHash, actor, outcomes, !outcomes.includes('dead_letter')],
        );
        for (const snapshots of buildSnapshotMessages(closed, rowsAfter))
          for (const snapshot of snapshots) await enqueueSnapshot(tx, `replay-${contentHash}`, snapshot);
        return decision;
      }),
  };
}

function toStoredDeadLetter(row: Row): StoredDeadLetter {
  return {
    contentHash: row.content_hash,
    requestId: row.request_id,
    account: row.account,
    shard: row.shard,
    sequence: Number(row.stream_sequence),
    reason: row.reason,
    detail: row.detail,
    recordedAt: row.recorded_at,
    event: row.event,
    replays: Number(row.replays),
    lastOutcomes: row.last_outcomes,
  };
}
