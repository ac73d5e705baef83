// `npm test`: compile, lint, import rules, then one jest run over all packages without the long
// tests. `npm run test:system` (this program with --system): compile, then the long tests,
// `*.system.test.ts`. Names of packages or test files restrict either. Stops at the first failing
// step and ends with the counts of the jest run on one line.
import { spawnSync } from 'node:child_process';
import { ROOMS, selectTests } from './rooms.mjs';
import { forgetCounts, readCounts } from './test-counts.mjs';

const TEST_MINUTES_MAX = 6;
/** The same caches as in `npm run lint`, so that checked files are not checked again. */
const CACHED = (tool) => ['--cache', '--cache-strategy', 'content', '--cache-location', `.cache/${tool}`];
const UNMATCHED = ['--no-warn-ignored', '--no-error-on-unmatched-pattern'];

const words = process.argv.slice(2);
const isSystem = words[0] === '--system';
const lane = isSystem ? 'system' : 'inner';
const { rooms, files } = selectOrEnd(isSystem ? words.slice(1) : words);
const selected = [...rooms, ...files];

process.chdir(new URL('../..', import.meta.url).pathname);
forgetCounts();

const startedAt = Date.now();
const isDone = before() && jest();
const minutes = (Date.now() - startedAt) / 60_000;
const isSlow = !isSystem && minutes > TEST_MINUTES_MAX;
console.log(`\ntook ${minutes.toFixed(1)} minutes${isSlow ? ` (more than ${TEST_MINUTES_MAX}: speed up a test)` : ''}`);
const counts = readCounts();
if (!isDone && counts.passed === 0) console.log('a step before the tests failed: nothing was tested');
if (counts.skipped > 0) console.log(`${counts.skipped} skipped: their names and requirements are listed above`);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(isDone && counts.failed === 0 ? 0 : 1);

function selectOrEnd(names) {
  try {
    return selectTests(names, lane);
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

/** Runs the steps before the tests: all for `npm test`, else compiling and lint. */
function before() {
  if (isSystem) return run('npm', ['run', '-s', 'build']);
  if (selected.length === 0) return turbo('//#build', '//#lint', '//#rules');
  return (
    run('npm', ['run', '-s', 'build']) &&
    run('node_modules/.bin/eslint', [...CACHED('eslint'), ...UNMATCHED, ...selected]) &&
    run('node_modules/.bin/prettier', [...CACHED('prettier'), '--check', ...selected])
  );
}

function jest() {
  const patterns = selected.flatMap((path) => ['--testPathPatterns', `/${path}${rooms.includes(path) ? '/' : '$'}`]);
  // Long tests start their own systems; more than two at a time delay each other.
  const workers = isSystem ? ['--maxWorkers=2'] : [];
  return run('npm', ['run', '-s', 'jest', '--', ...workers, ...projects(), ...patterns], {
    GATEWAY_TEST_LANE: lane,
  });
}

/** Returns the packages of the selection, so that only their set-up runs. */
function projects() {
  const roomOf = (path) => ROOMS.filter((room) => path === room || path.startsWith(`${room}/`));
  return selected.length === 0 ? [] : ['--selectProjects', ...new Set(selected.flatMap(roomOf))];
}

function turbo(...steps) {
  const env = { TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', TURBO_NO_UPDATE_NOTIFIER: '1' };
  return run(
    'node_modules/.bin/turbo',
    ['run', ...steps, '--output-logs=full', '--log-prefix=none', '--no-color'],
    env,
  );
}

function run(program, args, env = {}) {
  return spawnSync(program, args, { stdio: 'inherit', env: { ...process.env, ...env } }).status === 0;
}
