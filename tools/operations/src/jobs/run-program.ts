import { spawn } from 'node:child_process';

export interface ProgramEnd {
  readonly code: number;
  /** The text on standard output, which was also printed. */
  readonly output: string;
}

/**
 * Runs another program of the project in the environment of this one and prints its output.
 * Rejects if it cannot be started or a signal ends it.
 * @param program path of the compiled file
 * @param env variables that replace those of this process
 */
export function runProgram(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<ProgramEnd> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    process.stdout.write(text);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === null) reject(new Error(`${signal} ended ${program}: run the command again`));
      else resolve({ code, output });
    });
  });
}
