// `npm start` in plain JavaScript: checks the requirements before anything is compiled and prints
// all problems with their remedies. Then compiles and runs the starter.
import { spawnSync } from 'node:child_process';
import { existsSync, statfsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NODE_MIN = [20, 19];
const DISK_BYTES_MIN = 1_000_000_000;

const startedAt = performance.now();
const problems = [nodeProblem(), installProblem(), diskProblem()].filter(Boolean);
if (problems.length > 0) {
  console.error(['The gateway cannot start:', ...problems.map((text) => `  - ${text}`)].join('\n'));
  process.exit(1);
}
run(['node_modules/@typescript/native/bin/tsc', '-b', 'tools/local'], 'The code does not compile');
run(['services/dashboard/web/build.mjs'], 'The pages of the dashboard cannot be built');
console.log(`compiled in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
await import('./dist/main.js');

function nodeProblem() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return null;
  return `Node ${process.versions.node} is too old: install Node ${NODE_MIN.join('.')} or newer`;
}

function installProblem() {
  return existsSync(`${ROOT}node_modules/typescript`) ? null : 'the packages are not installed: run "npm ci" first';
}

function diskProblem() {
  const { bavail, bsize } = statfsSync(ROOT);
  const free = bavail * bsize;
  if (free >= DISK_BYTES_MIN) return null;
  return `only ${Math.floor(free / 1e6)} MB are free on the disk of ${ROOT}: the servers need 1,000 MB`;
}

function run(args, problem) {
  if (spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' }).status === 0) return;
  console.error(`${problem}. See the messages above.`);
  process.exit(1);
}
