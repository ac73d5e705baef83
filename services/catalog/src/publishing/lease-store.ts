import { randomUUID } from 'node:crypto';
import { onPool, type Pool } from '@gateway/postgres';

/**
 * Longer than a publication takes; a replica that dies in one keeps the others waiting for so long.
 */
const LEASE_MS = 5_000;

export type PublicationLease = ReturnType<typeof createPublicationLease>;

/**
 * Lets one replica at a time write the bucket, without a connection that is held meanwhile. The
 * lease is that of one process, which has it once at a time itself; a restarted process is another
 * holder.
 */
export function createPublicationLease(pool: Pool) {
  const holder = randomUUID();
  const queries = onPool(pool);
  let held = false;
  return {
    /** False: another replica has it, or this one has it already. */
    async take(): Promise<boolean> {
      if (held) return false;
      held = true;
      try {
        held = (await queries.execute(TAKE, [holder, LEASE_MS])) === 1;
      } catch (error) {
        held = false;
        throw error;
      }
      return held;
    },
    async giveBack(): Promise<void> {
      try {
        await queries.execute(GIVE_BACK, [holder]);
      } finally {
        held = false;
      }
    },
  };
}

const TAKE = `UPDATE publication_lease
    SET holder = $1, held_until = clock_timestamp() + $2 * interval '1 millisecond'
  WHERE holder = $1 OR held_until <= clock_timestamp()`;
const GIVE_BACK = "UPDATE publication_lease SET holder = NULL, held_until = '-infinity' WHERE holder = $1";
