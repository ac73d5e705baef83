import { readArguments } from './arguments.js';
import type { BenchArguments } from './arguments.js';
import { Ending } from './ending.js';
import { PLACES } from './places.js';
import { renderReport } from './results/render-report.js';
import { writeReport } from './results/write-report.js';
import { runBench } from './run-bench.js';

/** A run that takes longer is broken off. */
const RUN_MS_MAX = 30 * 60_000;
const EXIT_WRONG_ARGUMENTS = 2;
const EXIT_BROKEN_OFF = 130;

const given = readArguments(process.argv.slice(2));
if ('problems' in given) {
  process.stderr.write(`${given.problems.join('\n')}\n`);
  process.exitCode = EXIT_WRONG_ARGUMENTS;
} else await run(given);

async function run(options: BenchArguments): Promise<void> {
  // The benchmark runs on servers of its own: addresses and settings of the caller's shell are not for it.
  for (const name of Object.keys(process.env)) if (name.startsWith('GATEWAY_')) delete process.env[name];
  const startedAt = performance.now();
  const log = (line: string) =>
    process.stdout.write(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
  const ending = new Ending();
  const abort = new AbortController();
  const breakOff = (reason: string): void => {
    // The kernel ends the children of a starter that is gone.
    if (abort.signal.aborted) process.exit(EXIT_BROKEN_OFF);
    process.exitCode = EXIT_BROKEN_OFF;
    abort.abort(new Error(reason));
    log(`${reason}: ending everything (once more to leave at once)`);
  };
  process.on('SIGINT', () => breakOff('interrupted'));
  process.on('SIGTERM', () => breakOff('asked to end'));
  // The reader of a pipe may leave: without this the process would end with everything still running.
  process.stdout.on('error', () => breakOff('the output was closed'));
  const timer = setTimeout(() => breakOff(`not done after ${RUN_MS_MAX / 60_000} minutes`), RUN_MS_MAX);
  try {
    const command = ['npm run bench', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(' ');
    const report = await runBench(options, command, { ending, log, signal: abort.signal });
    process.stdout.write(`\n${renderReport(report)}\n`);
    for (const file of writeReport(report, options.quick ? PLACES.work : PLACES.results, options.name))
      log(`wrote ${file}`);
  } catch (error) {
    const fault: unknown = abort.signal.aborted ? abort.signal.reason : error;
    process.stderr.write(`the benchmark failed: ${fault instanceof Error ? fault.message : String(fault)}\n`);
    process.exitCode ??= 1;
  } finally {
    clearTimeout(timer);
    await ending.run(log);
  }
  process.exit();
}
