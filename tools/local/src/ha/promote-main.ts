// `npm run promote -w tools/local -- [--accept-loss] [--state DIR]`: promotes a PostgreSQL standby
// of a system that was started with `npm start -- --ha`. Exit 0: promoted; 1: an error, printed on
// standard error, without changes.
import { parseArgs } from 'node:util';
import { readRunning } from '../running-file.js';
import { promote } from './promote.js';

const { values } = parseArgs({
  options: { 'accept-loss': { type: 'boolean', default: false }, state: { type: 'string' } },
});
const { state, running } = readRunning(values.state);
const startedAt = performance.now();
try {
  await promote({
    stateDirectory: state,
    kill,
    acceptLoss: values['accept-loss'],
    log: (line) => console.log(line),
  });
  console.log(`promoted in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

/** Kills the server. The starter restarts it in the role that the record defines. */
function kill(member: string): void {
  for (const pid of running.pids[member] ?? []) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has already ended.
    }
  }
}
