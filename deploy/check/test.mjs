// `npm test`: compile, lint, import rules, then one jest run over all rooms. Stops at the first step that fails, and
// ends with the counts of the jest run alone on a line.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';

const COUNTS = '.cache/test-counts.json';
const TEST_MINUTES_MAX = 10;

process.chdir(new URL('../..', import.meta.url).pathname);
rmSync(COUNTS, { force: true });

const startedAt = Date.now();
const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', TURBO_NO_UPDATE_NOTIFIER: '1' };
const steps = ['//#build', '//#lint', '//#rules', '//#jest'];
const run = spawnSync(
  'node_modules/.bin/turbo',
  ['run', ...steps, '--output-logs=full', '--log-prefix=none', '--no-color'],
  {
    stdio: 'inherit',
    env,
  },
);

const minutes = (Date.now() - startedAt) / 60_000;
console.log(
  `\ntook ${minutes.toFixed(1)} minutes${minutes > TEST_MINUTES_MAX ? ` (more than ${TEST_MINUTES_MAX}: make something quicker)` : ''}`,
);
const counts = readCounts();
if (counts.skipped > 0) console.log(`${counts.skipped} skipped: their names and what they need stand above`);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(run.status === 0 && counts.failed === 0 ? 0 : 1);

function readCounts() {
  try {
    return JSON.parse(readFileSync(COUNTS, 'utf8'));
  } catch {
    // A step before the tests failed: that is one failure, and nothing passed.
    return { passed: 0, failed: 1, skipped: 0 };
  }
}
