import { randomUUID } from 'node:crypto';
import { onPool, type Pool } from '@gateway/postgres';
import type { PublicationLease } from '../ports.js';

/** Longer than a publication takes; a replica that dies in one keeps the others waiting for so long. */
const LEASE_MS = 5_000;

/** The lease of one process, which has it once at a time itself; a restarted process is another holder. */
export function makePublicationLease(pool: Pool): PublicationLease {
  const holder = randomUUID();
  const queries = onPool(pool);
  let held = false;
  return {
    async take() {
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
    async giveBack() {
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
