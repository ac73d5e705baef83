import { inTransaction, onPool, type Pool } from '@gateway/postgres';
import type { RestoreStore } from '../ledger/ledger-ports.js';

export function makeRestoreStore(pool: Pool): RestoreStore {
  const queries = onPool(pool);
  return {
    async floorSequence() {
      const row = await queries.one<{ sequence: bigint }>('SELECT floor_sequence AS sequence FROM stream_progress');
      return Number(row?.sequence ?? 0n);
    },
    beginIncarnation: () =>
      inTransaction(pool, async (tx) => {
        const row = await tx.one<{ incarnation: string }>('SELECT begin_incarnation() AS incarnation');
        if (row === null) throw new Error('the ledger has no row of its state');
        // Marks name positions that the lost part of this ledger had settled.
        await tx.execute('DELETE FROM stream_marks');
        const accounts = await tx.execute(
          `INSERT INTO outbox (topic, key, body)
           SELECT 'standing', account, jsonb_build_object('change', 'restored-' || $1::text, 'standing',
                    jsonb_build_object('account', account, 'rows', '[]'::jsonb, 'closed', '[]'::jsonb))
             FROM accounts ORDER BY account`,
          [row.incarnation],
        );
        return { incarnation: row.incarnation, accounts };
      }),
  };
}
