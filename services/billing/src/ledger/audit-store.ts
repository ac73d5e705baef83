import { inTransaction, type Pool, type Tx } from '@gateway/postgres';
import { AUDIT_CHECKS, type AuditCheck } from './audit-sql.js';
import type { ChainHead, ChainSource } from './chain-rules.js';
import { createChainReader } from './chain-store.js';

/** Two stored values that should be equal and are not. */
export interface Difference {
  readonly check: string;
  /** The object that differs: an ID, or an account with the name of a balance. */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

export interface LedgerSnapshot {
  readonly chain: ChainSource;
  /** Yields the differences of one check after the other; calls `begin` for each check. */
  differences(begin: (check: string) => void): AsyncIterable<Difference>;
  /** Returns the heads of the chains that many blocks ago; omits chains that are shorter. */
  headsBefore(blocks: number): Promise<readonly ChainHead[]>;
  /** Returns the number of dead letters that no replay has resolved. */
  deadLetters(): Promise<number>;
}

export interface LedgerReader {
  /** Runs `work` on one snapshot of the ledger; `work` must not write. */
  snapshot<T>(work: (ledger: LedgerSnapshot) => Promise<T>): Promise<T>;
}

/** Differences per fetch. */
const ROWS_MAX = 500;
/** Memory for each sort and hash of a check; PostgreSQL spills larger ones to disk. */
const WORK_MEMORY = '64MB';

/** The queries run for a long time: give the pool a statement timeout of hours. */
export function createLedgerReader(pool: Pool): LedgerReader {
  return {
    snapshot: (work) =>
      inTransaction(
        pool,
        async (tx) => {
          await tx.execute(`SET LOCAL work_mem = '${WORK_MEMORY}'`);
          return work({
            chain: createChainReader(tx),
            differences: (begin) => readDifferences(tx, begin),
            headsBefore: (blocks) => readHeadsBefore(tx, blocks),
            deadLetters: () => countDeadLetters(tx),
          });
        },
        { isolation: 'repeatable read', readOnly: true, attemptsMax: 1 },
      ),
  };
}

async function* readDifferences(tx: Tx, begin: (check: string) => void): AsyncGenerator<Difference> {
  for (const check of AUDIT_CHECKS) {
    begin(check.name);
    yield* readBalanceRows(tx, check);
  }
}

async function* readBalanceRows(tx: Tx, { name, sql }: AuditCheck): AsyncGenerator<Difference> {
  await tx.execute(`DECLARE audit NO SCROLL CURSOR FOR ${sql}`);
  for (;;) {
    const rows = await tx.query<Omit<Difference, 'check'>>(`FETCH ${ROWS_MAX} FROM audit`);
    for (const row of rows) yield { check: name, ...row };
    if (rows.length < ROWS_MAX) break;
  }
  await tx.execute('CLOSE audit');
}

function readHeadsBefore(tx: Tx, blocks: number): Promise<ChainHead[]> {
  return tx.query<ChainHead>(
    `SELECT chain, block.number, encode(substr(block.members, length(block.members) - 31), 'hex') AS link
       FROM chain_heads head JOIN chain_blocks block USING (chain) WHERE block.number = head.number - $1 ORDER BY chain`,
    [blocks],
  );
}

async function countDeadLetters(tx: Tx): Promise<number> {
  const row = await tx.one<{ open: bigint }>(
    `SELECT count(*) AS open FROM dead_letters letter WHERE NOT EXISTS (
       SELECT FROM dead_letter_replays replay WHERE replay.content_hash = letter.content_hash AND replay.resolved)`,
  );
  return Number(row?.open ?? 0n);
}
