import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { int8s, timestamps } from '../ledger/array-sql.js';
import {
  type MessageRange,
  type SettledMessage,
  type SettledPosition,
  STORED_AT_ROUNDING_MS,
  type StreamState,
} from './progress-rules.js';

/** Messages per row: 16 bytes each, far less than a database page. */
const ROW_MESSAGES_MAX = 300;

export async function insertApplied(tx: Tx, messages: readonly SettledMessage[]): Promise<void> {
  for (let from = 0; from < messages.length; from += ROW_MESSAGES_MAX) {
    const row = messages.slice(from, from + ROW_MESSAGES_MAX);
    const sequences = row.map(({ sequence }) => sequence);
    const times = row.map(({ storedAtMs }) => storedAtMs);
    await tx.execute(
      `INSERT INTO applied_batches (first_sequence, last_sequence, last_stored_at, sequences, stored_at)
       VALUES ($1, $2, timestamptz 'epoch' + $3::bigint * interval '1 millisecond', $4::bigint[], $5::timestamptz[])`,
      [Math.min(...sequences), Math.max(...sequences), Math.max(...times), int8s(sequences), timestamps(times)],
      { name: 'insert_applied' },
    );
  }
}

/** Maximum of rows above the floor per query; the next query continues a longer run. */
const BATCHES_MAX = 1_000;

interface ProgressRow {
  floor_sequence: bigint;
  floor_stored_at: Date;
  stream_since: Date;
}

/**
 * Finds the last message of the contiguous run above the floor. The sequences of all subjects
 * together have no gaps, so a missing sequence is an unsettled message. A message that was
 * delivered again occurs in several rows.
 */
const SETTLED = `
  WITH progress AS (SELECT floor_sequence, floor_stored_at, stream_since FROM stream_progress),
  batch AS (
    SELECT sequences, applied_batches.stored_at FROM applied_batches, progress
     WHERE last_sequence > progress.floor_sequence AND last_stored_at >= progress.stream_since
     ORDER BY first_sequence LIMIT ${BATCHES_MAX}
  ),
  above AS (
    SELECT message.sequence, message.stored_at,
           message.sequence - dense_rank() OVER (ORDER BY message.sequence) AS island
      FROM batch CROSS JOIN LATERAL unnest(batch.sequences, batch.stored_at) AS message (sequence, stored_at), progress
     WHERE message.sequence > progress.floor_sequence AND message.stored_at >= progress.stream_since
  )
  SELECT greatest(max(above.sequence), progress.floor_sequence) AS sequence,
         greatest(max(above.stored_at), progress.floor_stored_at) AS stored_at
    FROM progress LEFT JOIN above ON above.island = progress.floor_sequence
   GROUP BY progress.floor_sequence, progress.floor_stored_at`;

export type ProgressStore = ReturnType<typeof createProgressStore>;

export function createProgressStore(pool: Pool) {
  const queries = onPool(pool);
  return {
    settledPosition: (): Promise<SettledPosition> => readSettledPosition(queries),
    /** Reads the floor: every message up to it is settled. */
    async floor(): Promise<SettledPosition> {
      const row = await queries.one<ProgressRow>('SELECT * FROM stream_progress');
      if (row === null) throw new Error('stream_progress is empty');
      return toPosition(row);
    },
    /**
     * Moves the floor to the end of the contiguous settled run, and detects a stream that was
     * created again. Read `floorBefore` before `stream`: if another replica has moved the floor
     * since then, the stream's end may be older than the floor and is ignored.
     */
    advance: (
      stream: StreamState,
      floorBefore: SettledPosition,
    ): Promise<{ position: SettledPosition; restarted: boolean }> =>
      inTransaction(pool, (tx) => advance(tx, stream, floorBefore)),
    /** Records that everything up to `sequence` was stored before now and is settled. */
    async mark(sequence: number): Promise<void> {
      await queries.execute('INSERT INTO stream_marks (sequence) VALUES ($1) ON CONFLICT DO NOTHING', [sequence]);
    },
    /** Returns the newest position marked at least `ageMs` ago, or null; deletes older marks. */
    async markedBefore(ageMs: number): Promise<number | null> {
      const row = await queries.one<{ sequence: bigint }>(
        `WITH reached AS (
           SELECT marked_at, sequence FROM stream_marks
            WHERE marked_at <= now() - $1::bigint * interval '1 millisecond' ORDER BY marked_at DESC LIMIT 1
         ), forgotten AS (
           DELETE FROM stream_marks USING reached WHERE stream_marks.marked_at < reached.marked_at
         )
         SELECT sequence FROM reached`,
        [ageMs],
      );
      return row === null ? null : Number(row.sequence);
    },
  };
}

export async function readSettledPosition(tx: Tx): Promise<SettledPosition> {
  const row = await tx.one<{ sequence: bigint; stored_at: Date }>(SETTLED, [], { name: 'settled_position' });
  if (row === null) throw new Error('stream_progress is empty');
  return { sequence: Number(row.sequence), storedAtMs: row.stored_at.getTime() };
}

/** Returns the first ranges of unsettled messages between the settled position and `upTo`. */
export async function readMissingMessages(tx: Tx, settled: number, upTo: number): Promise<MessageRange[]> {
  if (settled >= upTo) return [];
  const rows = await tx.query<{ first: bigint; last: bigint }>(MISSING, [settled, upTo]);
  return rows.map(({ first, last }) => ({ from: Number(first), to: Number(last) }));
}

/** Maximum of ranges; later ones are found after these are settled. */
const MISSING_MAX = 100;

const MISSING = `
  WITH above AS (
    SELECT message.sequence
      FROM stream_progress, applied_batches batch
      CROSS JOIN LATERAL unnest(batch.sequences, batch.stored_at) AS message (sequence, stored_at)
     WHERE batch.last_sequence > $1 AND message.sequence > $1 AND message.sequence <= $2
       AND message.stored_at >= stream_progress.stream_since
     UNION SELECT $2::bigint + 1
  ), step AS (SELECT sequence, lag(sequence, 1, $1::bigint) OVER (ORDER BY sequence) AS before FROM above)
  SELECT before + 1 AS first, sequence - 1 AS last FROM step WHERE sequence > before + 1
   ORDER BY sequence LIMIT ${MISSING_MAX}`;

function toPosition(row: ProgressRow): SettledPosition {
  return { sequence: Number(row.floor_sequence), storedAtMs: row.floor_stored_at.getTime() };
}

async function advance(
  tx: Tx,
  stream: StreamState,
  floorBefore: SettledPosition,
): Promise<{ position: SettledPosition; restarted: boolean }> {
  const progress = await tx.one<ProgressRow>('SELECT * FROM stream_progress FOR UPDATE');
  if (progress === null) throw new Error('stream_progress is empty');
  const restarted = await isRestarted(tx, progress, stream, floorBefore);
  if (restarted) await resetFloor(tx, stream);
  else await skipDeletedMessages(tx, progress, stream);
  const position = await readSettledPosition(tx);
  if (restarted || position.sequence > Number(progress.floor_sequence))
    await moveFloor(tx, position.sequence, position.storedAtMs);
  await tx.execute(
    `DELETE FROM applied_batches batch USING stream_progress progress
      WHERE batch.last_sequence <= progress.floor_sequence OR batch.last_stored_at < progress.stream_since`,
  );
  return { position, restarted };
}

/**
 * Returns true if the floor was counted in another stream: this one is shorter, or a message up to
 * the floor was stored after the floor's time. An empty stream is ignored, because it has nothing
 * to settle. The length is ignored if the floor has moved since the stream was read. Otherwise a
 * replica that hung in between would reset the floor to a position that others have passed.
 */
async function isRestarted(
  tx: Tx,
  progress: ProgressRow,
  stream: StreamState,
  floorBefore: SettledPosition,
): Promise<boolean> {
  if (stream.firstAtMs === null) return false;
  const floor = toPosition(progress);
  const isUnmoved = floor.sequence === floorBefore.sequence && floor.storedAtMs === floorBefore.storedAtMs;
  if (isUnmoved && stream.lastSequence < floor.sequence) return true;
  const row = await tx.one<{ found: boolean }>(
    `SELECT EXISTS (
       SELECT FROM applied_batches batch
         CROSS JOIN LATERAL unnest(batch.sequences, batch.stored_at) AS message (sequence, stored_at)
        WHERE batch.first_sequence <= $1 AND batch.last_stored_at > $2
          AND message.sequence <= $1 AND message.stored_at > $2) AS found`,
    [progress.floor_sequence, progress.floor_stored_at],
  );
  return row?.found === true;
}

async function resetFloor(tx: Tx, stream: StreamState): Promise<void> {
  await moveFloor(tx, stream.firstSequence - 1, stream.firstAtMs ?? 0);
  await tx.execute(
    `UPDATE stream_progress SET stream_since = floor_stored_at - $1::bigint * interval '1 millisecond'`,
    [STORED_AT_ROUNDING_MS],
  );
  await tx.execute('DELETE FROM stream_marks');
}

/**
 * A ledger that has settled nothing begins at the first message of the stream. Any other ledger
 * lacks the deleted messages, and only an operator can accept that (docs/protocol.md#r17).
 */
async function skipDeletedMessages(
  tx: Tx,
  progress: ProgressRow,
  { firstSequence, firstAtMs }: StreamState,
): Promise<void> {
  if (firstAtMs === null || firstSequence === 1 || Number(progress.floor_sequence) > 0) return;
  await moveFloor(tx, firstSequence - 1, firstAtMs);
}

async function moveFloor(tx: Tx, sequence: number, storedAtMs: number): Promise<void> {
  await tx.execute(
    `UPDATE stream_progress
        SET floor_sequence = $1, floor_stored_at = timestamptz 'epoch' + $2::bigint * interval '1 millisecond'`,
    [sequence, storedAtMs],
  );
}

export type RestoreStore = ReturnType<typeof createRestoreStore>;

/** Creates the store for the command that declares a restored ledger. */
export function createRestoreStore(pool: Pool) {
  const queries = onPool(pool);
  return {
    /** Every message up to this one was settled when the backup was made. */
    async floorSequence(): Promise<number> {
      const row = await queries.one<{ sequence: bigint }>('SELECT floor_sequence AS sequence FROM stream_progress');
      return Number(row?.sequence ?? 0n);
    },
    /**
     * Begins a new ledger epoch with new consumers. Enqueues a balance snapshot for each account
     * that makes admission load it again.
     * @param floor last message that is lost and whose loss was accepted; null: no message is lost
     */
    beginLedgerEpoch: (
      floor: SettledPosition | null,
    ): Promise<{ readonly ledgerEpoch: string; readonly accounts: number }> =>
      inTransaction(pool, async (tx) => {
        const row = await tx.one<{ ledger_epoch: string }>('SELECT begin_ledger_epoch() AS ledger_epoch');
        if (row === null) throw new Error('ledger_state is empty');
        if (floor !== null) await moveFloor(tx, floor.sequence, floor.storedAtMs);
        return { ledgerEpoch: row.ledger_epoch, accounts: await enqueueEpochSnapshots(tx, row.ledger_epoch) };
      }),
  };
}

/**
 * Enqueues the snapshots of a new ledger epoch, in the transaction that begins it. @returns the
 * number of accounts to load again
 */
export async function enqueueEpochSnapshots(tx: Tx, ledgerEpoch: string): Promise<number> {
  // The marks may contain positions that only the lost part of this ledger had settled.
  await tx.execute('DELETE FROM stream_marks');
  return tx.execute(
    `INSERT INTO outbox (topic, key, body)
     SELECT 'balance-snapshot', account, jsonb_build_object('change', 'restored-' || $1::text, 'snapshot',
              jsonb_build_object('account', account, 'rows', '[]'::jsonb, 'closed', '[]'::jsonb))
       FROM accounts ORDER BY account`,
    [ledgerEpoch],
  );
}
