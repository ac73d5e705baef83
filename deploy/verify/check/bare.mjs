// `npm run check:bare`: the README's commands on a bare Debian 12, as root and as an ordinary user.
// Needs Debian 12 and root.
//
// This program only prepares: it makes a directory for the run and starts bare/inside.mjs in a
// mount and process namespace of its own. When that ends, however it ends, its mounts and processes
// are gone, and the directory is deleted.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readOptions } from './bare/options.mjs';

const INSIDE = fileURLToPath(new URL('bare/inside.mjs', import.meta.url));
/**
 * Ends what is still inside when this program is ended by a signal that inside.mjs does not get
 * from the terminal.
 */
const ENDING_SIGNALS = ['SIGTERM', 'SIGHUP'];

const options = readOptions(process.argv.slice(2));
const problem = options.problem ?? machineProblem();
if (problem) {
  console.error(problem);
  process.exit(1);
}

// Not in the checkout: tools that walk it would find the copies.
const directory = mkdtempSync('/var/tmp/gateway-bare-');
const namespaces = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
// The shell is the first process of the namespace and reaps what loses its parent, as every init
// does.
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

function machineProblem() {
  if (process.getuid?.() !== 0) return 'check:bare makes a root of its own: it must be run as root';
  if (!/^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'))) return 'check:bare needs a Debian machine';
  return null;
}
