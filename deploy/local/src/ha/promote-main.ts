// `npm run promote -- [--to postgres-2] [--accept-loss] [--state DIR]`: makes a standby of a system
// that was started with `npm start -- --ha` the primary. Exit 0: done; 1: a fault, printed on
// standard error, with everything as before.
import { parseArgs } from 'node:util';
import { readRunning } from '../running-file.js';
import { promote } from './promote.js';

const { values } = parseArgs({
  options: { to: { type: 'string' }, 'accept-loss': { type: 'boolean', default: false }, state: { type: 'string' } },
});
const { state, running } = readRunning(values.state);
const startedAt = performance.now();
try {
  await promote({
    stateDirectory: state,
    kill,
    ...(values.to === undefined ? {} : { to: values.to }),
    acceptLoss: values['accept-loss'],
    log: (line) => console.log(line),
  });
  console.log(`promoted in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

/** The starter starts it again, by the record that says who is the primary. */
function kill(member: string): void {
  for (const pid of running.pids[member] ?? []) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It had ended.
    }
  }
}
