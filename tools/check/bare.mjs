// `npm run check:bare`: runs the README's commands on a bare Debian 12, as root and as an ordinary
// user. Needs Debian 12 and root.
// This program only prepares: it creates a directory for the run and starts bare/inside.mjs in a
// separate mount and process namespace. When that program ends in any way, its mounts and processes
// are gone, and the directory is deleted.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const HELP = `npm run check:bare -- [options]
  --skip-tests        leave out "npm test"
  --user-tests        "npm test" also as the ordinary user
  --only root|user    only one of the two
  --working-tree      copy the files of the checkout instead of cloning the last commit
  --keep              do not delete the directory of the run`;
const INSIDE = fileURLToPath(new URL('bare/inside.mjs', import.meta.url));
/**
 * Kills the inner program if this program ends by a signal that the terminal does not send to
 * inside.mjs.
 */
const ENDING_SIGNALS = ['SIGTERM', 'SIGHUP'];

const options = readOptions();
const problem = options === null ? HELP : machineProblem();
if (problem) {
  console.error(problem);
  process.exit(1);
}

// Outside the checkout, because tools that scan it would find the copies.
const directory = mkdtempSync('/var/tmp/gateway-bare-');
const namespaces = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
// The shell is the first process of the namespace and reaps orphans, as every init does.
const shell = ['sh', '-c', '"$@"; exit $?', 'init', process.execPath, INSIDE, directory, JSON.stringify(options)];
const inside = spawn('unshare', [...namespaces, ...shell], { stdio: 'inherit' });
process.on('SIGINT', () => undefined);
for (const signal of ENDING_SIGNALS) process.on(signal, () => inside.kill('SIGKILL'));
inside.on('error', (error) => console.error(`unshare cannot be started: ${error.message}`));
inside.on('close', (code) => {
  if (options.keep) console.log(`kept: ${directory}`);
  else rmSync(directory, { recursive: true, force: true });
  process.exit(code ?? 1);
});

/** Returns the options of the command line; null: invalid. */
function readOptions() {
  const flag = { type: 'boolean', default: false };
  const known = { 'skip-tests': flag, 'user-tests': flag, 'working-tree': flag, keep: flag, only: { type: 'string' } };
  try {
    const { values } = parseArgs({ options: known });
    return ['root', 'user', undefined].includes(values.only) ? values : null;
  } catch {
    return null;
  }
}

function machineProblem() {
  if (process.getuid?.() !== 0) return 'check:bare creates a root file system: run it as root';
  if (!/^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'))) return 'check:bare needs a Debian machine';
  return null;
}
