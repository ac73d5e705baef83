import { createPool } from '@gateway/postgres';
import { COMMON_FIELDS, type Logger, readConfig, runAsCommand } from '@gateway/service-kit';
import { createJobStore, type JobRun } from '../jobs/store.js';
import { type LedgerReader, createLedgerReader } from '../ledger/audit-store.js';
import { createDeadLetterStore, type DeadLetterStore } from '../dead-letters/store.js';
import { createRestoreStore, type RestoreStore } from '../stream/progress-store.js';

/** Statement timeout: commands read the whole ledger. */
const COMMAND_STATEMENT_MS = 6 * 3_600_000;

/** The stores that commands use, concurrently with the service or without it. */
export interface LedgerCommands {
  readonly reader: LedgerReader;
  readonly deadLetters: DeadLetterStore;
  readonly restore: RestoreStore;
  /**
   * Stores the end of a run for the metrics of billing. Logs a warning if that fails, because a
   * standby can be audited too.
   */
  record(run: JobRun): Promise<void>;
  close(): Promise<void>;
}

/** Connects with the service's role; audit and chain write only the end of their run. */
export function openLedger(postgresUrl: string, log: Pick<Logger, 'info' | 'warn' | 'error'>): LedgerCommands {
  const pool = createPool(postgresUrl, {
    applicationName: 'billing command',
    max: 2,
    statementTimeoutMs: COMMAND_STATEMENT_MS,
    log,
  });
  const jobs = createJobStore(pool);
  return {
    reader: createLedgerReader(pool),
    deadLetters: createDeadLetterStore(pool),
    restore: createRestoreStore(pool),
    record: (run) =>
      jobs.record(run).catch((err: Error) => log.warn({ err }, `the run was not recorded: ${err.message}`)),
    close: () => pool.end(),
  };
}

/**
 * Runs a command on the ledger at GATEWAY_POSTGRES_URL and exits with the command's code, or with 2
 * if the command failed.
 */
export function runCommand(work: (ledger: LedgerCommands) => Promise<number>): Promise<void> {
  return runAsCommand(async () => {
    const fields = { GATEWAY_POSTGRES_URL: COMMON_FIELDS.GATEWAY_POSTGRES_URL };
    const ledger = openLedger(readConfig(fields, process.env).GATEWAY_POSTGRES_URL.reveal(), {
      info: () => undefined,
      warn: (_fields: object, text: string) => console.error(text),
      error: (_fields: object, text: string) => console.error(text),
    });
    try {
      return await work(ledger);
    } finally {
      await ledger.close();
    }
  });
}
