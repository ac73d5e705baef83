// `npm start` in plain JavaScript: checks the requirements before anything is compiled and prints
// all problems with their remedies. Then compiles and runs the starter.
import { spawnSync } from 'node:child_process';
import { existsSync, statfsSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NODE_MIN = [20, 19];
const DISK_BYTES_MIN = 1_000_000_000;
const PORT_OPTIONS = ['port', 'dashboard-port', 'operator-port'];

const startedAt = performance.now();
const problems = [
  nodeProblem(),
  installProblem(),
  diskProblem(),
  ...(await portProblems(process.argv.slice(2))),
].filter(Boolean);
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

/** Reports taken ports. The starter reports other problems of its arguments. */
async function portProblems(args) {
  const options = Object.fromEntries(PORT_OPTIONS.map((name) => [name, { type: 'string' }]));
  const { values } = parseArgs({ args, options, strict: false });
  const checks = PORT_OPTIONS.map(async (name) => {
    const port = Number(values[name] ?? 0);
    if (!Number.isInteger(port) || port < 1 || port > 65_535 || (await isFree(port))) return null;
    return `port ${port} (--${name}) is taken: stop the program that uses it, or choose another port (0: any)`;
  });
  return Promise.all(checks);
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

function run(args, problem) {
  if (spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' }).status === 0) return;
  console.error(`${problem}. See the messages above.`);
  process.exit(1);
}
