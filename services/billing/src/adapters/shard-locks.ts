import { isConnectionFault, type Pool } from '@gateway/postgres';
import type { PoolClient } from 'pg';

/** First key of the advisory locks: "bill" in ASCII, so that they meet no others in this database. */
const LOCK_SPACE = 0x62696c6c;

/** Which shards this process works on: at most one process holds a shard, and a process that dies holds none. */
export interface ShardLocks {
  /** Takes the shard if nobody holds it; true also while it is held here. */
  hold(shard: number): Promise<boolean>;
  /** Gives all back. */
  release(): Promise<void>;
}

/**
 * Advisory locks of one database session kept for them: the database frees them when the session ends, so a replacement
 * starts at once. `onLost` is called when the session breaks. Only speed depends on these locks (ledger): two workers
 * on one shard wait for each other's accounts and settle nothing twice.
 */
export function makeShardLocks(pool: Pool, onLost: () => void): ShardLocks {
  let session: PoolClient | null = null;
  const held = new Set<number>();

  /** Closed, never returned to the pool: a session keeps its locks. */
  const close = (closing: PoolClient): boolean => {
    if (session !== closing) return false;
    session = null;
    held.clear();
    closing.release(true);
    return true;
  };

  const connect = async (): Promise<PoolClient> => {
    const opened = await pool.connect();
    const lost = (): void => {
      if (close(opened)) onLost();
    };
    opened.once('error', lost);
    opened.once('end', lost);
    session = opened;
    return opened;
  };

  return {
    async hold(shard) {
      if (held.has(shard)) return true;
      const on = session ?? (await connect());
      try {
        const { rows } = await on.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS taken', [
          LOCK_SPACE,
          shard,
        ]);
        if (rows[0]?.taken !== true || session !== on) return false;
        held.add(shard);
        return true;
      } catch (error) {
        if (isConnectionFault(error) && close(on)) onLost();
        throw error;
      }
    },
    async release() {
      if (session !== null) close(session);
    },
  };
}
