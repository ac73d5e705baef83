import { createPool } from '@gateway/postgres';
import type { Logger } from '@gateway/service-kit';
import { makeLedgerReader } from './adapters/ledger-reader.js';
import { makeRestoreStore } from './adapters/restore-store.js';
import { makeSetAsideStore } from './adapters/set-aside-store.js';
import type { LedgerReader, RestoreStore, SetAsideStore } from './ledger-ports.js';

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
