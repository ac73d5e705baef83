import { inTransaction, type Pool, type Tx } from '@gateway/postgres';
import { AUDIT_CHECKS, type AuditCheck } from './audit-sql.js';
import type { ChainHead, ChainSource } from './chain-rules.js';
import { createChainReader } from './chain-store.js';

/** Two records of one thing that do not agree. */
export interface Difference {
  /** What was compared. */
  readonly check: string;
  /** Which of them: an id, an account with the name of a row, … */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
}

/** A ledger as it was in one moment. */
export interface LedgerSnapshot {
  readonly chain: ChainSource;
  /**
   * Every difference between its tables, one check after the other; `begin` hears of each check.
   */
  differences(begin: (check: string) => void): AsyncIterable<Difference>;
  /** Where the chains ended so many blocks ago; a shorter chain is left out. */
  headsBefore(blocks: number): Promise<readonly ChainHead[]>;
  /** Events that are set aside and that no replay has resolved. */
  deadLetters(): Promise<number>;
}

export interface LedgerReader {
  /** All of `work` sees the ledger of one moment; it must not write. */
  snapshot<T>(work: (ledger: LedgerSnapshot) => Promise<T>): Promise<T>;
}

/** Differences read at once. */
const ROWS_MAX = 500;
/** For each sort and hash of a check; what needs more goes to the server's disk. */
const WORK_MEMORY = '64MB';

/** The pool's statements may take long: give it hours. */
export function createLedgerReader(pool: Pool): LedgerReader {
  return {
    snapshot: (work) =>
      inTransaction(
        pool,
        async (tx) => {
          await tx.execute(`SET LOCAL work_mem = '${WORK_MEMORY}'`);
          return work({
            chain: createChainReader(tx),
            differences: (begin) => differencesOf(tx, begin),
            headsBefore: (blocks) => headsBefore(tx, blocks),
            deadLetters: () => countDeadLetters(tx),
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

async function countDeadLetters(tx: Tx): Promise<number> {
  const row = await tx.one<{ open: bigint }>(
    `SELECT count(*) AS open FROM set_aside_events aside WHERE NOT EXISTS (
       SELECT FROM set_aside_replays replay WHERE replay.content_hash = aside.content_hash AND replay.resolved)`,
  );
  return Number(row?.open ?? 0n);
}
