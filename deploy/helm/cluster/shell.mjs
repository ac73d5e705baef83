// A shell for the commands of the chart's README and of parts.yaml.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const POLL_MS = 100;
const MARK = 'the block has ended';

export const here = (path) => fileURLToPath(new URL(path, import.meta.url));
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns the commands of a section of the chart's README, one text for each block. */
export function documented(section) {
  const text = readFileSync(here('../README.md'), 'utf8').split(`\n## ${section}\n`)[1] ?? '';
  return [...text.split('\n## ')[0].matchAll(/^```sh\n([^]*?)^```/gm)].map(([, block = '']) => block);
}

/**
 * Starts bash in the root of the checkout. The returned function runs commands there, prints and
 * returns their output, and rejects if one fails. Functions, variables and background jobs stay.
 */
export function startShell(env) {
  const shell = spawn('bash', { cwd: here('../../..'), env, stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  let output = '';
  shell.stdout.on('data', (text) => (output += text));
  shell.stdin.write('set -eo pipefail\n');
  process.once('exit', () => {
    try {
      if (shell.pid !== undefined) process.kill(-shell.pid);
    } catch {
      // Neither the shell nor a background job is left.
    }
  });
  return async function paste(block, print = console.log) {
    output = '';
    shell.stdin.write(`${block}\necho '${MARK}'\n`);
    while (!output.includes(MARK)) {
      if (shell.exitCode !== null) throw new Error(`${block}\nended with ${shell.exitCode}:\n${output}`);
      await pause(POLL_MS);
    }
    output = output.replace(`${MARK}\n`, '');
    if (output !== '') print(output.trimEnd());
    return output;
  };
}
