import { answerParent } from '../machine/child-program.js';
import { KeyRotation } from './key-turns.js';
import type { LoadCommand } from './load-process.js';
import { runLoad } from './run-load.js';
import type { LoadKeys } from './run-load.js';

const keys = new Map<string, LoadKeys>();

answerParent<LoadCommand>(async (command) => {
  if (command.kind === 'job') return runLoad(command.job, keys.get(command.job.keysOf ?? '') ?? null);
  const { of, secrets, perMinuteMax } = command;
  keys.set(of, { secrets, turns: new KeyRotation(secrets.length, perMinuteMax) });
  return null;
});
process.once('disconnect', () => process.exit(0));
