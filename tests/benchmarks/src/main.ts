import { runAdmission } from './admission/run-admission.js';
import { runBilling } from './billing/run-billing.js';
import { Cleanup, type BenchContext, DIRECTORIES, messageOf } from './context.js';
import { runDashboard } from './dashboard/run-dashboard.js';
import { planEdge, planTelemetry } from './edge/plans.js';
import { runEdge } from './edge/run-edge.js';
import { type BenchmarkName, type BenchOptions, readOptions } from './options.js';
import { type Report, renderReport, writeReport } from './report.js';

/** Longest duration of a run. */
const RUN_MS_MAX = 90 * 60_000;
const EXIT_WRONG_OPTIONS = 2;
const EXIT_BROKEN_OFF = 130;

type Benchmark = (options: BenchOptions, context: BenchContext) => Promise<Report>;

const BENCHMARKS: Readonly<Record<BenchmarkName, Benchmark>> = {
  edge: async (options, context) => runEdge(await planEdge(options, context), options, context),
  admission: runAdmission,
  billing: runBilling,
  dashboard: runDashboard,
  telemetry: async (options, context) => runEdge(await planTelemetry(context), options, context),
};

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

/**
 * Runs a benchmark until it is done or aborted, writes its report, and ends everything that was
 * started.
 */
async function run(options: BenchOptions, args: readonly string[]): Promise<void> {
  // The benchmark uses its own servers, so addresses and settings of the caller's shell do not
  // apply.
  for (const variable of Object.keys(process.env)) if (variable.startsWith('GATEWAY_')) delete process.env[variable];
  const started = new Date();
  const log = (line: string) =>
    process.stdout.write(`${((Date.now() - started.getTime()) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
  const ending = new Cleanup();
  const abort = new AbortController();
  breakOffInTime(abort, log);
  try {
    const measured = await BENCHMARKS[options.benchmark](options, { ending, log, signal: abort.signal });
    const command = ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
    const facts = [...measured.facts, ['Command', `\`${command}\``], ['Started', started.toISOString()]] as const;
    const report = { ...measured, facts };
    process.stdout.write(`\n${renderReport(report)}\n`);
    const isComplete = !options.quick && report.brokenOff === null;
    for (const file of writeReport(report, isComplete ? DIRECTORIES.results : DIRECTORIES.work, options.name))
      log(`wrote ${file}`);
    if (report.brokenOff !== null) throw new Error(report.brokenOff);
  } catch (error) {
    process.stderr.write(`the benchmark failed: ${messageOf(abort.signal.aborted ? abort.signal.reason : error)}\n`);
    process.exitCode ??= 1;
  } finally {
    await ending.run(log);
  }
  process.exit();
}

const args = process.argv.slice(2);
const options = readOptions(args);
if ('problems' in options) {
  process.stderr.write(`${options.problems.join('\n')}\n`);
  process.exitCode = EXIT_WRONG_OPTIONS;
} else await run(options, args);
