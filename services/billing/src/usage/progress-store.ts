import { inTransaction, onPool, type Pool, type Tx } from '@gateway/postgres';
import { type ProgressStore, type SettledPosition, STORED_AT_ROUNDING_MS, type StreamFacts } from '../ports.js';

/** Rows above the floor that are looked at in one step; a longer run is counted in the next step. */
const RUN_MAX = 20_000;

interface ProgressRow {
  floor_sequence: bigint;
  floor_stored_at: Date;
  stream_since: Date;
}

/**
 * The last message of the unbroken run above the floor. Sequences of all shards together have no gaps, so a missing one is
 * a message that is not settled.
 */
const SETTLED = `
  WITH progress AS (SELECT floor_sequence, floor_stored_at, stream_since FROM stream_progress),
  above AS (
    SELECT message.sequence, message.stored_at,
           message.sequence - row_number() OVER (ORDER BY message.sequence) AS island
      FROM applied_messages message, progress
     WHERE message.sequence > progress.floor_sequence AND message.stored_at >= progress.stream_since
     ORDER BY message.sequence LIMIT ${RUN_MAX}
  )
  SELECT greatest(max(above.sequence), progress.floor_sequence) AS sequence,
         greatest(max(above.stored_at), progress.floor_stored_at) AS stored_at
    FROM progress LEFT JOIN above ON above.island = progress.floor_sequence
   GROUP BY progress.floor_sequence, progress.floor_stored_at`;

export function makeProgressStore(pool: Pool): ProgressStore {
  const queries = onPool(pool);
  return {
    settledPosition: () => settledPosition(queries),
    async floor() {
      const row = await queries.one<ProgressRow>('SELECT * FROM stream_progress');
      if (row === null) throw new Error('the ledger has no row of stream progress');
      return floorOf(row);
    },
    advance: (stream, floorBefore) => inTransaction(pool, (tx) => advance(tx, stream, floorBefore)),
    async mark(sequence) {
      await queries.execute('INSERT INTO stream_marks (sequence) VALUES ($1) ON CONFLICT DO NOTHING', [sequence]);
    },
    async markedBefore(ageMs) {
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

export async function settledPosition(tx: Tx): Promise<SettledPosition> {
  const row = await tx.one<{ sequence: bigint; stored_at: Date }>(SETTLED, [], { name: 'settled_position' });
  if (row === null) throw new Error('the ledger has no row of stream progress');
  return { sequence: Number(row.sequence), storedAtMs: row.stored_at.getTime() };
}

function floorOf(row: ProgressRow): SettledPosition {
  return { sequence: Number(row.floor_sequence), storedAtMs: row.floor_stored_at.getTime() };
}

async function advance(
  tx: Tx,
  stream: StreamFacts,
  floorBefore: SettledPosition,
): Promise<{ position: SettledPosition; restarted: boolean }> {
  const progress = await tx.one<ProgressRow>('SELECT * FROM stream_progress FOR UPDATE');
  if (progress === null) throw new Error('the ledger has no row of stream progress');
  const restarted = await isRestarted(tx, progress, stream, floorBefore);
  if (restarted) await startAfresh(tx, stream);
  else await skipDeleted(tx, progress, stream);
  const position = await settledPosition(tx);
  if (restarted || position.sequence > Number(progress.floor_sequence))
    await moveFloor(tx, position.sequence, position.storedAtMs);
  await tx.execute(
    `DELETE FROM applied_messages message USING stream_progress progress
      WHERE message.sequence <= progress.floor_sequence OR message.stored_at < progress.stream_since`,
  );
  return { position, restarted };
}

/**
 * Whether the stream is another one than the floor was counted in: it is shorter, or a message up to the floor was stored
 * after it. An empty stream tells nothing: there is nothing in it to be settled. Nor does the length of one that was looked at
 * before the floor came where it is: a replica that hung in between would take back what another one has counted, for ever.
 */
async function isRestarted(
  tx: Tx,
  progress: ProgressRow,
  stream: StreamFacts,
  floorBefore: SettledPosition,
): Promise<boolean> {
  if (stream.firstAtMs === null) return false;
  const floor = floorOf(progress);
  const isUnmoved = floor.sequence === floorBefore.sequence && floor.storedAtMs === floorBefore.storedAtMs;
  if (isUnmoved && stream.lastSequence < floor.sequence) return true;
  const row = await tx.one<{ found: boolean }>(
    'SELECT EXISTS (SELECT FROM applied_messages WHERE sequence <= $1 AND stored_at > $2) AS found',
    [progress.floor_sequence, progress.floor_stored_at],
  );
  return row?.found === true;
}

async function startAfresh(tx: Tx, stream: StreamFacts): Promise<void> {
  await moveFloor(tx, stream.firstSequence - 1, stream.firstAtMs ?? 0);
  await tx.execute(
    `UPDATE stream_progress SET stream_since = floor_stored_at - $1::bigint * interval '1 millisecond'`,
    [STORED_AT_ROUNDING_MS],
  );
  await tx.execute('DELETE FROM stream_marks');
}

/** Messages that left the stream by their age cannot be waited for. */
async function skipDeleted(tx: Tx, progress: ProgressRow, { firstSequence, firstAtMs }: StreamFacts): Promise<void> {
  if (firstAtMs === null || firstSequence - 1 <= Number(progress.floor_sequence)) return;
  await moveFloor(tx, firstSequence - 1, firstAtMs);
}

async function moveFloor(tx: Tx, sequence: number, storedAtMs: number): Promise<void> {
  await tx.execute(
    `UPDATE stream_progress
        SET floor_sequence = $1, floor_stored_at = timestamptz 'epoch' + $2::bigint * interval '1 millisecond'`,
    [sequence, storedAtMs],
  );
}
