// `npm start` in plain JavaScript: checks the requirements before anything is compiled and prints
// all problems with their remedies. Then compiles and runs the starter.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statfsSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NODE_MIN = [20, 19];
const DISK_BYTES_MIN = 1_000_000_000;
const GIVEN_PORTS = ['--port', '--dashboard-port', '--operator-port'];

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
compile();
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

async function portProblems(args) {
  const checks = GIVEN_PORTS.map(async (option) => {
    const at = args.findIndex((arg) => arg === option || arg.startsWith(`${option}=`));
    if (at < 0) return null;
    const text = args[at]?.includes('=') ? args[at].slice(option.length + 1) : args[at + 1];
    const port = Number(text);
    if (text === undefined || !/^\d{1,5}$/.test(text) || port > 65_535) return `${option} needs a port, 0 to 65535`;
    if (port === 0 || (await isFree(port))) return null;
    return `port ${port} (${option}) is taken: stop the program that uses it, or choose another port (0: any)`;
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

function compile() {
  mkdirSync(`${ROOT}.cache`, { recursive: true });
  const projects = JSON.parse(readFileSync(new URL('./tsconfig.json', import.meta.url), 'utf8'));
  if (!projects.references) throw new Error('tools/local/tsconfig.json has no project references');
  const tsc = spawnSync(process.execPath, ['node_modules/@typescript/native/bin/tsc', '-b', 'tools/local'], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  if (tsc.status !== 0) {
    console.error('The code does not compile. See the messages above.');
    process.exit(1);
  }
  const pages = spawnSync(process.execPath, ['services/dashboard/web/build.mjs'], { cwd: ROOT, stdio: 'inherit' });
  if (pages.status === 0) return;
  console.error('The pages of the dashboard cannot be built. See the messages above.');
  process.exit(1);
}
