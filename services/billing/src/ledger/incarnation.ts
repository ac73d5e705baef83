import { onPool, type Pool } from '@gateway/postgres';

/** What tells this ledger from a restored copy of it (docs/protocol.md#r17). */
export async function readIncarnation(pool: Pool): Promise<string> {
  const row = await onPool(pool).one<{ incarnation: string }>('SELECT incarnation FROM ledger_state');
  if (row === null) throw new Error('the ledger has no incarnation');
  return row.incarnation;
}
