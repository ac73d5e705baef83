// What `.ci/run` ends with: `npm test`, then `npm run test:system`, whatever became of the first, then the sum of their counts
// alone on a line. Fails when either failed.
import { spawnSync } from 'node:child_process';
import { forgetCounts, readCounts } from './test-counts.mjs';

process.chdir(new URL('../../..', import.meta.url).pathname);
let isDone = true;
const sum = { passed: 0, failed: 0, skipped: 0 };
for (const args of [['test'], ['run', 'test:system']]) {
  forgetCounts();
  const { status } = spawnSync('npm', args, { stdio: 'inherit' });
  const counts = readCounts();
  for (const name of Object.keys(sum)) sum[name] += counts[name];
  isDone &&= status === 0;
}
const skipped = sum.skipped > 0 ? `, ${sum.skipped} skipped` : '';
console.log(`\n${sum.passed} passed, ${sum.failed} failed${skipped}`);
process.exit(isDone && sum.failed === 0 ? 0 : 1);
