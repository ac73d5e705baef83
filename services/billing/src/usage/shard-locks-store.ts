import { isConnectionFault, type Pool } from '@gateway/postgres';
import { type Background, every } from '@gateway/service-kit';
import type { PoolClient } from 'pg';

/** First key of the advisory locks: "bill" in ASCII, to avoid conflicts with other locks. */
const LOCK_SPACE = 0x62696c6c;
/** Interval of the heartbeats that show that a process works on its shards. */
const HEARTBEAT_MS = 1_000;
/** A holder that is silent for this time counts as hung, and its session is terminated. */
export const HOLDER_SILENT_MS = 5_000;

/**
 * Creates advisory locks in a dedicated database session. When a process dies, its session ends, so
 * another process can take over immediately. A hung process (stopped, swapped out, disconnected)
 * keeps its session; the others see that its heartbeats have stopped and terminate the session.
 * `onLost` is called when the session ends, in a hung process after it resumes. Only speed depends
 * on these locks: two workers on one shard wait for each other's account locks and settle nothing
 * twice.
 */
export function createShardLocks(pool: Pool, onLost: () => void, silentMs = HOLDER_SILENT_MS) {
  let session: PoolClient | null = null;
  let beating: Background | undefined;
  const held = new Set<number>();
  // Runs one query of the session at a time.
  let last: Promise<unknown> = Promise.resolve();

  /** Closes the session instead of returning it to the pool, because a session keeps its locks. */
  const close = (closing: PoolClient): boolean => {
    if (session !== closing) return false;
    session = null;
    void beating?.stop();
    held.clear();
    closing.release(true);
    return true;
  };

  const request = async <R extends object>(on: PoolClient, text: string, values: unknown[]): Promise<R[]> => {
    const asked = last.then(() => on.query<R>(text, values));
    last = asked.catch(() => undefined);
    try {
      return (await asked).rows;
    } catch (error) {
      if (isConnectionFault(error) && close(on)) onLost();
      throw error;
    }
  };

  const connect = async (): Promise<PoolClient> => {
    const opened = await pool.connect();
    const lost = (): void => {
      if (close(opened)) onLost();
    };
    opened.once('error', lost);
    opened.once('end', lost);
    session = opened;
    beating = every(HEARTBEAT_MS, async () => {
      if (held.size > 0) await request(opened, HEARTBEAT, []);
    });
    return opened;
  };

  return {
    /** Takes the shard if it is free; returns true if this process holds it. */
    async hold(shard: number): Promise<boolean> {
      if (held.has(shard)) return true;
      const on = session ?? (await connect());
      const [row] = await request<{ taken: boolean }>(on, 'SELECT pg_try_advisory_lock($1, $2) AS taken', [
        LOCK_SPACE,
        shard,
      ]);
      if (session !== on) return false;
      if (row?.taken !== true) {
        await request(on, END_SILENT_HOLDER, [shard, silentMs]);
        return false;
      }
      await request(on, RECORD_HELD, [shard]);
      if (session !== on) return false;
      held.add(shard);
      return true;
    },
    /** Releases all shards. */
    async release(): Promise<void> {
      if (session !== null) close(session);
    },
  };
}

const RECORD_HELD = `
  INSERT INTO shard_holders (shard, backend_pid, backend_started_at)
    SELECT $1, pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()
    ON CONFLICT (shard) DO UPDATE SET backend_pid = excluded.backend_pid,
      backend_started_at = excluded.backend_started_at, seen_at = clock_timestamp()`;

const HEARTBEAT = 'UPDATE shard_holders SET seen_at = clock_timestamp() WHERE backend_pid = pg_backend_pid()';

/**
 * The holder has the same database role. The start time of its session distinguishes it from a
 * later session with the same process ID.
 */
const END_SILENT_HOLDER = `
  SELECT pg_terminate_backend(activity.pid)
    FROM shard_holders holder
    JOIN pg_stat_activity activity
      ON activity.pid = holder.backend_pid AND activity.backend_start = holder.backend_started_at
   WHERE holder.shard = $1 AND holder.seen_at < clock_timestamp() - $2::bigint * interval '1 millisecond'`;
