import { randomUUID } from 'node:crypto';
import { onPool, type Pool } from '@gateway/postgres';

/** Longer than a publication. After a replica dies during one, the others wait for this time. */
const LEASE_MS = 5_000;

export type PublicationLease = ReturnType<typeof createPublicationLease>;

/**
 * Creates a lease that lets one replica at a time write the bucket, without an open database
 * connection. The holder is one process, which takes the lease only once at a time. A restarted
 * process is another holder.
 */
export function createPublicationLease(pool: Pool) {
  const holder = randomUUID();
  const queries = onPool(pool);
  let held = false;
  return {
    /** Returns false if another replica has the lease, or this one has already taken it. */
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
