import { DIRECTORIES } from './bench-context.js';
import { renderReport } from './results/render-report.js';
import { writeReport } from './results/write-report.js';
import { runBench } from './run-bench.js';
import { runProgram } from './run-program.js';

await runProgram('bench', async (options, command, context) => {
  const report = await runBench(options, command, context);
  process.stdout.write(`\n${renderReport(report)}\n`);
  for (const file of writeReport(
    report,
    options.quick || report.brokenOff !== null ? DIRECTORIES.work : DIRECTORIES.results,
    options.name,
  ))
    context.log(`wrote ${file}`);
  if (report.brokenOff !== null) throw new Error(report.brokenOff);
});
