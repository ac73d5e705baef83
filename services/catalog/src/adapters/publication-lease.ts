import { randomUUID } from 'node:crypto';
import { onPool, type Pool } from '@gateway/postgres';
import type { PublicationLease } from '../ports.js';

/** Longer than a publication takes; a replica that dies in one keeps the others waiting for so long. */
const LEASE_MS = 5_000;

/** The lease of one process: a restarted one is another holder. */
export function makePublicationLease(pool: Pool): PublicationLease {
  const holder = randomUUID();
  const queries = onPool(pool);
  return {
    async take() {
      const text = `UPDATE publication_lease
          SET holder = $1, held_until = clock_timestamp() + $2 * interval '1 millisecond'
        WHERE holder = $1 OR held_until <= clock_timestamp()`;
      return (await queries.execute(text, [holder, LEASE_MS])) === 1;
    },
    async giveBack() {
      const text = "UPDATE publication_lease SET holder = NULL, held_until = '-infinity' WHERE holder = $1";
      await queries.execute(text, [holder]);
    },
  };
}
