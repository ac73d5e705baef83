import { runAdmission } from './admission/run-admission.js';
import { runBilling } from './billing/run-billing.js';
import { Cleanup, type BenchContext, DIRECTORIES, messageOf } from './context.js';
import { runDashboard } from './dashboard/run-dashboard.js';
import { runEdge, runTelemetry } from './edge/run-edge.js';
import { type BenchmarkName, type BenchOptions, readOptions } from './options.js';
import { type Report, readMachineFacts, renderReport, writeReport } from './report.js';

const EXIT_BROKEN_OFF = 130;

const BENCHMARKS: Readonly<Record<BenchmarkName, (options: BenchOptions, context: BenchContext) => Promise<Report>>> = {
  edge: runEdge,
  telemetry: runTelemetry,
  admission: runAdmission,
  billing: runBilling,
  dashboard: runDashboard,
};

/** Aborts on a signal, and when the output is closed. */
function breakOffInTime(abort: AbortController, log: (line: string) => void): void {
  const breakOff = (reason: string): void => {
    // The kernel ends the children of a process that has exited.
    if (abort.signal.aborted) process.exit(EXIT_BROKEN_OFF);
    process.exitCode = EXIT_BROKEN_OFF;
    abort.abort(new Error(reason));
    log(`${reason}: ending everything (repeat to exit at once)`);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => breakOff('interrupted'));
  process.stdout.on('error', () => breakOff('the output was closed'));
}

const KEEP_ALIVE_MS = 60_000;

/** Runs a benchmark, writes its report, and ends everything that was started. */
async function run(options: BenchOptions, args: readonly string[]): Promise<void> {
  // Addresses and settings of the caller's shell do not apply to the benchmark's own servers.
  for (const variable of Object.keys(process.env)) if (variable.startsWith('GATEWAY_')) delete process.env[variable];
  const started = new Date();
  const log = (line: string) =>
    process.stdout.write(`${((Date.now() - started.getTime()) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
  const ending = new Cleanup();
  const abort = new AbortController();
  breakOffInTime(abort, log);
  const machine = readMachineFacts();
  try {
    const measured = await BENCHMARKS[options.benchmark](options, { ending, log, signal: abort.signal });
    const command = ['Command', `\`${['npm run bench --', ...args].join(' ')}\``] as const;
    const report = { ...measured, facts: [...machine, ...measured.facts, command] };
    process.stdout.write(`\n${renderReport(report)}\n`);
    log(`wrote ${writeReport(report, options.quick ? DIRECTORIES.work : DIRECTORIES.results, options.name)}`);
  } catch (error) {
    process.stderr.write(`the benchmark failed: ${messageOf(abort.signal.aborted ? abort.signal.reason : error)}\n`);
    process.exitCode ??= 1;
  } finally {
    // The children do not keep this process alive until they have exited.
    setInterval(() => undefined, KEEP_ALIVE_MS);
    await ending.run(log);
  }
  process.exit();
}

const args = process.argv.slice(2);
let options;
try {
  options = readOptions(args);
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 2;
}
if (options !== undefined) await run(options, args);
