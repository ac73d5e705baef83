import { inTransaction, type Pool, type Tx } from '@gateway/postgres';
import { AUDIT_CHECKS, type AuditCheck } from './audit-sql.js';
import { makeChainReader } from './chain-reader.js';
import type { ChainHead, Difference, LedgerReader } from './ledger-ports.js';

/** Differences read at once. */
const ROWS_MAX = 500;
/** For each sort and hash of a check; what needs more goes to the server's disk. */
const WORK_MEMORY = '64MB';

/** The pool's statements may take long: give it hours. */
export function makeLedgerReader(pool: Pool): LedgerReader {
  return {
    snapshot: (work) =>
      inTransaction(
        pool,
        async (tx) => {
          await tx.execute(`SET LOCAL work_mem = '${WORK_MEMORY}'`);
          return work({
            chain: makeChainReader(tx),
            differences: (begin) => differencesOf(tx, begin),
            headsBefore: (blocks) => headsBefore(tx, blocks),
            setAside: () => countSetAside(tx),
          });
        },
        { isolation: 'repeatable read', readOnly: true, attemptsMax: 1 },
      ),
  };
}

async function* differencesOf(tx: Tx, begin: (check: string) => void): AsyncGenerator<Difference> {
  for (const check of AUDIT_CHECKS) {
    begin(check.name);
    yield* rowsOf(tx, check);
  }
}

async function* rowsOf(tx: Tx, { name, sql }: AuditCheck): AsyncGenerator<Difference> {
  await tx.execute(`DECLARE audit NO SCROLL CURSOR FOR ${sql}`);
  for (;;) {
    const rows = await tx.query<Omit<Difference, 'check'>>(`FETCH ${ROWS_MAX} FROM audit`);
    for (const row of rows) yield { check: name, ...row };
    if (rows.length < ROWS_MAX) break;
  }
  await tx.execute('CLOSE audit');
}

function headsBefore(tx: Tx, blocks: number): Promise<ChainHead[]> {
  return tx.query<ChainHead>(
    `SELECT chain, block.number, encode(substr(block.members, length(block.members) - 31), 'hex') AS link
       FROM chain_heads head JOIN chain_blocks block USING (chain) WHERE block.number = head.number - $1 ORDER BY chain`,
    [blocks],
  );
}

async function countSetAside(tx: Tx): Promise<number> {
  const row = await tx.one<{ open: bigint }>(
    `SELECT count(*) AS open FROM set_aside_events aside WHERE NOT EXISTS (
       SELECT FROM set_aside_replays replay WHERE replay.content_hash = aside.content_hash AND replay.resolved)`,
  );
  return Number(row?.open ?? 0n);
}
