import { ConfigurationError } from './config.js';

/** EX_CONFIG of sysexits.h: a supervisor can tell it from a crash, as a restart would not help. */
export const EXIT_CONFIGURATION = 78;
const EXIT_FAULT = 2;

/**
 * Runs a command that a person or a job started. The number that `work` resolves with is the exit
 * code. An error is one text on standard error, without its stack, and the exit code 78 for a wrong
 * configuration, else 2.
 */
export async function runAsCommand(work: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await work();
  } catch (error) {
    process.exitCode = error instanceof ConfigurationError ? EXIT_CONFIGURATION : EXIT_FAULT;
    console.error(error instanceof Error ? error.message : String(error));
  }
}
