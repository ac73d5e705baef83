import { inTransaction, type Pool } from '@gateway/postgres';
import { DATABASE_IDENTITY_SQL } from '../ledger/sql.js';
import { readMissingMessages, readSettledPosition, enqueueEpochSnapshots } from '../stream/progress-store.js';
import type { LostCommitsStore } from './lost-commits-rules.js';

interface LedgerStateRow {
  database: string;
  timeline: number;
  log_bytes: bigint;
  ledger_epoch: string;
  consumers: string;
  blocks: bigint;
}

/** Reads the timeline from the WAL position: the control file gets it with a checkpoint. */
const LEDGER_STATE_SQL = `
  SELECT ${DATABASE_IDENTITY_SQL} AS database,
         ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer AS timeline,
         pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint AS log_bytes,
         ledger_epoch, consumers,
         (SELECT coalesce(sum(number), 0) FROM chain_heads)::bigint AS blocks
    FROM ledger_state`;

/** Creates the store that reads the ledger's state and begins a new epoch. */
export function createLostCommitsStore(pool: Pool): LostCommitsStore {
  return {
    readState: (upTo) =>
      inTransaction(
        pool,
        async (tx) => {
          const row = await tx.one<LedgerStateRow>(LEDGER_STATE_SQL);
          if (row === null) throw new Error('ledger_state is empty');
          const settled = await readSettledPosition(tx);
          return {
            database: row.database,
            timeline: row.timeline,
            logBytes: Number(row.log_bytes),
            ledgerEpoch: row.ledger_epoch,
            consumers: row.consumers,
            blocks: Number(row.blocks),
            settled,
            missing: await readMissingMessages(tx, settled.sequence, upTo),
          };
        },
        { isolation: 'repeatable read', readOnly: true },
      ),
    beginEpochAfter: (former, seen) =>
      inTransaction(pool, async (tx) => {
        const sql = 'SELECT begin_ledger_epoch_after($1, $2) AS begun';
        const begun = (await tx.one<{ begun: string | null }>(sql, [former, seen]))?.begun ?? null;
        if (begun !== null) await enqueueEpochSnapshots(tx, begun);
        return begun;
      }),
  };
}
