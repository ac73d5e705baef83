import { ConfigurationError } from './config/config.js';

/**
 * EX_CONFIG of sysexits.h. A supervisor can distinguish it from a crash, because a restart would
 * not help.
 */
export const EXIT_CONFIGURATION = 78;
const EXIT_FAULT = 2;

/**
 * Runs a command of a person or a job. `work` resolves with the exit code. An error is printed to
 * standard error without its stack; the exit code is then 78 for a wrong configuration, else 2.
 */
export async function runAsCommand(work: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await work();
  } catch (error) {
    process.exitCode = error instanceof ConfigurationError ? EXIT_CONFIGURATION : EXIT_FAULT;
    console.error(error instanceof Error ? error.message : String(error));
  }
}
