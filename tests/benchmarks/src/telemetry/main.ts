import { mkdirSync, writeFileSync } from 'node:fs';
import { DIRECTORIES } from '../bench-context.js';
import { runProgram } from '../run-program.js';
import { renderTelemetry } from './render-telemetry.js';
import { runTelemetry } from './run-telemetry.js';

await runProgram('bench:telemetry', async (options, command, context) => {
  const report = renderTelemetry(await runTelemetry(options, command, context));
  process.stdout.write(`\n${report}`);
  const directory = options.quick ? DIRECTORIES.work : DIRECTORIES.results;
  mkdirSync(directory, { recursive: true });
  writeFileSync(`${directory}/telemetry.md`, report);
  context.log(`wrote ${directory}/telemetry.md`);
});
