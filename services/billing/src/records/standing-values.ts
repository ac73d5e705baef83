import { onPool, type Pool } from '@gateway/postgres';
import type { StandingValuesStore } from './insight-ports.js';

export function makeStandingValuesStore(pool: Pool): StandingValuesStore {
  const queries = onPool(pool);
  return {
    values: (account, names) =>
      queries.query<{ name: string; value: bigint }>(
        'SELECT name, value FROM standing_rows WHERE account = $1 AND name = ANY ($2::text[])',
        [account, names],
      ),
  };
}
