import { type BenchArguments, readArguments } from './arguments.js';
import { type BenchContext, Cleanup } from './bench-context.js';

/** Longest duration of a run. */
const RUN_MS_MAX = 90 * 60_000;
const EXIT_WRONG_ARGUMENTS = 2;
const EXIT_BROKEN_OFF = 130;

/** One run, with its options, its command line for the report, and its context. */
export type Run = (options: BenchArguments, command: string, context: BenchContext) => Promise<void>;

/**
 * Runs a benchmark program: reads the arguments, runs until done or aborted, ends everything that
 * was started, and exits.
 * @param name name of its npm script
 */
export async function runProgram(name: string, run: Run): Promise<void> {
  const args = process.argv.slice(2);
  const given = readArguments(args);
  if ('problems' in given) {
    process.stderr.write(`${given.problems.join('\n')}\n`);
    process.exitCode = EXIT_WRONG_ARGUMENTS;
    return;
  }
  // The benchmark uses its own servers, so addresses and settings of the caller's shell do not
  // apply.
  for (const variable of Object.keys(process.env)) if (variable.startsWith('GATEWAY_')) delete process.env[variable];
  const startedAt = performance.now();
  const log = (line: string) =>
    process.stdout.write(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
  const ending = new Cleanup();
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

/** Aborts on a signal, when the output is closed, and after RUN_MS_MAX. */
function breakOffInTime(abort: AbortController, log: (line: string) => void): void {
  const breakOff = (reason: string): void => {
    // The kernel ends the children of a process that has exited.
    if (abort.signal.aborted) process.exit(EXIT_BROKEN_OFF);
    process.exitCode = EXIT_BROKEN_OFF;
    abort.abort(new Error(reason));
    log(`${reason}: ending everything (repeat to exit at once)`);
  };
  process.on('SIGINT', () => breakOff('interrupted'));
  process.on('SIGTERM', () => breakOff('terminated'));
  // The reader of a pipe may exit. Without this handler, the process would end and leave everything
  // running.
  process.stdout.on('error', () => breakOff('the output was closed'));
  setTimeout(() => breakOff(`not done after ${RUN_MS_MAX / 60_000} minutes`), RUN_MS_MAX).unref();
}
