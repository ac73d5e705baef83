import { readArguments } from './arguments.js';
import type { BenchArguments } from './arguments.js';
import type { BenchContext } from './bench-context.js';
import { Ending } from './ending.js';

/** A run that takes longer is broken off. */
const RUN_MS_MAX = 90 * 60_000;
const EXIT_WRONG_ARGUMENTS = 2;
const EXIT_BROKEN_OFF = 130;

/** One run: its options, its command line for the report, and what every step is given. */
export type Run = (options: BenchArguments, command: string, context: BenchContext) => Promise<void>;

/**
 * The whole life of a benchmark's process: arguments, one run that can be broken off, everything
 * that was started ended, exit.
 * @param name of its npm script
 */
export async function runProgram(name: string, run: Run): Promise<void> {
  const args = process.argv.slice(2);
  const given = readArguments(args);
  if ('problems' in given) {
    process.stderr.write(`${given.problems.join('\n')}\n`);
    process.exitCode = EXIT_WRONG_ARGUMENTS;
    return;
  }
  // The benchmark runs on servers of its own: addresses and settings of the caller's shell are not
  // for it.
  for (const variable of Object.keys(process.env)) if (variable.startsWith('GATEWAY_')) delete process.env[variable];
  const startedAt = performance.now();
  const log = (line: string) =>
    process.stdout.write(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
  const ending = new Ending();
  const abort = new AbortController();
  breakOffInTime(abort, log);
  try {
    const command = [`npm run ${name}`, ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
    await run(given, command, { ending, log, signal: abort.signal });
  } catch (error) {
    const fault: unknown = abort.signal.aborted ? abort.signal.reason : error;
    process.stderr.write(`the benchmark failed: ${fault instanceof Error ? fault.message : String(fault)}\n`);
    process.exitCode ??= 1;
  } finally {
    await ending.run(log);
  }
  process.exit();
}

/** On a signal, when nobody reads the output any more, and after RUN_MS_MAX. */
function breakOffInTime(abort: AbortController, log: (line: string) => void): void {
  const breakOff = (reason: string): void => {
    // The kernel ends the children of a starter that is gone.
    if (abort.signal.aborted) process.exit(EXIT_BROKEN_OFF);
    process.exitCode = EXIT_BROKEN_OFF;
    abort.abort(new Error(reason));
    log(`${reason}: ending everything (once more to leave at once)`);
  };
  process.on('SIGINT', () => breakOff('interrupted'));
  process.on('SIGTERM', () => breakOff('asked to end'));
  // The reader of a pipe may leave: without this the process would end with everything still
  // running.
  process.stdout.on('error', () => breakOff('the output was closed'));
  setTimeout(() => breakOff(`not done after ${RUN_MS_MAX / 60_000} minutes`), RUN_MS_MAX).unref();
}
