import { answerParent } from '../machine/programs.js';
import { KeyRotation } from './key-rotation.js';
import type { LoadCommand } from './load.js';
import { type LoadKeys, runLoad } from './run-load.js';

const keys = new Map<string, LoadKeys>();

answerParent<LoadCommand>(async (command) => {
  if (command.kind === 'job') return runLoad(command.job, keys.get(command.job.keysOf ?? '') ?? null);
  const { of, secrets, perMinuteMax } = command;
  keys.set(of, { secrets, rotation: new KeyRotation(secrets.length, perMinuteMax) });
  return null;
});
process.once('disconnect', () => process.exit(0));
