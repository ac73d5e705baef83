import { runOperatorCommand } from './run.js';

process.exitCode = await runOperatorCommand(process.argv.slice(2), process.env, {
  out: (text) => void process.stdout.write(text),
  error: (text) => void process.stderr.write(text),
});
