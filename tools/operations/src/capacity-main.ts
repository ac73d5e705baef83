// `npm run capacity`: prints pods, servers, limits and units to price for 100, 500, 2,000 and
// 10,000 requests per second, or for the given load. `--compare FILE` compares the model with the
// results of `npm run bench`. Exit 1: a difference above 30 %, or nothing to compare; 2: an invalid
// option or file.
import { readFileSync } from 'node:fs';
import { computeCapacity, readCosts } from './capacity.js';
import { readOptions } from './capacity-options.js';
import { type BenchResults, compareWithRun, renderCapacities, renderComparison } from './capacity-page.js';

const EXIT_USAGE = 2;

const args = process.argv.slice(2);
try {
  const { workloads, compare } = readOptions(args);
  const costs = readCosts();
  if (compare === null) {
    const command = ['npm run capacity', ...(args.length === 0 ? [] : ['--', ...args])].join(' ');
    const capacities = workloads.map((workload) => computeCapacity(workload, costs));
    process.stdout.write(renderCapacities(capacities, costs, command));
  } else {
    const rows = compareWithRun(JSON.parse(readFileSync(compare, 'utf8')) as BenchResults, costs);
    process.stdout.write(`${renderComparison(rows)}\n`);
    if (rows.length === 0) process.stderr.write('the file has no scenario that the model was not fitted to\n');
    process.exitCode = rows.length > 0 && rows.every(({ isWithin }) => isWithin) ? 0 : 1;
  }
} catch (error) {
  process.stderr.write(`capacity: ${(error as Error).message}\n`);
  process.exitCode = EXIT_USAGE;
}
