import { createPool } from '@gateway/postgres';
import { COMMON_FIELDS, type Logger, readConfig, runAsCommand } from '@gateway/service-kit';
import { type LedgerReader, createLedgerReader } from '../ledger/audit-store.js';
import { createDeadLetterStore, type DeadLetterStore } from '../usage/dead-letter-store.js';
import { createRestoreStore, type RestoreStore } from '../usage/progress-store.js';

/** Statements of commands walk through the whole ledger. */
const COMMAND_STATEMENT_MS = 6 * 3_600_000;

/** The ledger as commands use it, beside or instead of the service. */
export interface LedgerCommands {
  readonly reader: LedgerReader;
  readonly deadLetters: DeadLetterStore;
  readonly restore: RestoreStore;
  close(): Promise<void>;
}

/** Of the service's own role; audit and chain only read. */
export function openLedger(postgresUrl: string, log: Pick<Logger, 'info' | 'warn' | 'error'>): LedgerCommands {
  const pool = createPool(postgresUrl, {
    applicationName: 'billing command',
    max: 2,
    statementTimeoutMs: COMMAND_STATEMENT_MS,
    log,
  });
  return {
    reader: createLedgerReader(pool),
    deadLetters: createDeadLetterStore(pool),
    restore: createRestoreStore(pool),
    close: () => pool.end(),
  };
}

/**
 * Runs a command on the ledger that GATEWAY_POSTGRES_URL names, and exits with its code; 2 when it
 * could not be done.
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
