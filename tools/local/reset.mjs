// `npm run reset [-- --state DIR]`: deletes the local state unless a system is using it.
import { existsSync, readFileSync, readlinkSync, rmSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const state = resolve(stateOption() ?? fileURLToPath(new URL('../../.state', import.meta.url)));

if (!existsSync(state)) {
  console.log(`there is no state in ${state}`);
  process.exit(0);
}
if (!existsSync(`${state}/secrets.json`) && !existsSync(`${state}/servers`)) {
  console.error(`${state} is not a state directory of this project: nothing was deleted`);
  process.exit(1);
}
const starter = runningStarter();
if (starter !== null) {
  console.error(`a system is running on ${state} (process ${starter}): stop it first with Ctrl-C`);
  process.exit(1);
}
for (const outside of outsideDirectories(`${state}/servers`)) rmSync(outside, { recursive: true, force: true });
rmSync(state, { recursive: true, force: true });
console.log(`deleted ${state}`);

function stateOption() {
  try {
    return parseArgs({ options: { state: { type: 'string' } } }).values.state;
  } catch (error) {
    console.error(`${error.message}: nothing was deleted`);
    process.exit(2);
  }
}

function runningStarter() {
  try {
    const pid = JSON.parse(readFileSync(`${state}/running.json`, 'utf8')).pids.starter[0];
    process.kill(pid, 0);
    return pid;
  } catch {
    return null;
  }
}

// Returns directories outside the state, with links in it, that the database's user must reach.
function outsideDirectories(directory) {
  const entries = existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : [];
  return entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => readlinkSync(`${directory}/${name}`));
}
