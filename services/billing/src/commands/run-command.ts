import { COMMON_FIELDS, ConfigurationError, readConfig } from '@gateway/service-kit';
import { type LedgerCommands, openLedger } from './open-ledger.js';

/** EX_CONFIG of sysexits.h, as services use it. */
const EXIT_CONFIGURATION = 78;
const EXIT_FAULT = 2;

/** Runs a command on the ledger that GATEWAY_POSTGRES_URL names, and exits with its code; 2 when it could not be done. */
export async function runCommand(work: (ledger: LedgerCommands) => Promise<number>): Promise<void> {
  const ledger = openLedger(postgresUrl(), {
    info: () => undefined,
    warn: (_facts: object, text: string) => console.error(text),
    error: (_facts: object, text: string) => console.error(text),
  });
  try {
    process.exitCode = await work(ledger);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = EXIT_FAULT;
  } finally {
    await ledger.close();
  }
}

function postgresUrl(): string {
  try {
    const fields = { GATEWAY_POSTGRES_URL: COMMON_FIELDS.GATEWAY_POSTGRES_URL };
    return readConfig(fields, process.env).GATEWAY_POSTGRES_URL.reveal();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    console.error(error.message);
    process.exit(EXIT_CONFIGURATION);
  }
}
