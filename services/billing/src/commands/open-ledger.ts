import { createPool } from '@gateway/postgres';
import type { Logger } from '@gateway/service-kit';
import { makeLedgerReader } from '../ledger/audit-store.js';
import type { LedgerReader, RestoreStore, SetAsideStore } from '../ledger/ledger-ports.js';
import { makeSetAsideStore } from '../usage/dead-letter-store.js';
import { makeRestoreStore } from '../usage/restore-store.js';

/** Statements of commands walk through the whole ledger. */
const COMMAND_STATEMENT_MS = 6 * 3_600_000;

/** The ledger as commands use it, beside or instead of the service. */
export interface LedgerCommands {
  readonly reader: LedgerReader;
  readonly setAside: SetAsideStore;
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
    reader: makeLedgerReader(pool),
    setAside: makeSetAsideStore(pool),
    restore: makeRestoreStore(pool),
    close: () => pool.end(),
  };
}
