import { KeyTurns } from './key-turns.js';
import type { LoadCommand, LoadReply } from './load-process.js';
import { runLoad } from './run-load.js';
import type { LoadKeys } from './run-load.js';

let keys: LoadKeys | null = null;

process.on('message', (command: LoadCommand) => {
  if (command.kind === 'keys') {
    keys = { secrets: command.secrets, turns: new KeyTurns(command.secrets.length, command.perMinuteMax) };
    return;
  }
  runLoad(command.job, keys).then(
    (result) => reply({ result }),
    (error: unknown) => reply({ fault: error instanceof Error ? error.message : String(error) }),
  );
});
process.once('disconnect', () => process.exit(0));

function reply(message: LoadReply): void {
  process.send?.(message);
}
