import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';

export interface LogLine extends Record<string, unknown> {
  readonly level: string;
  readonly text: string;
}

export interface ServiceProcess {
  readonly pid: number;
  readonly lines: readonly LogLine[];
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves with the first line of that text; rejects if the process ends first. */
  line(text: string): Promise<LogLine>;
  readonly exit: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  signal(name: NodeJS.Signals): void;
}

const LIFETIME_MS = 20_000;

/**
 * Runs `script` as a process next to the compiled sources. It is killed after twenty seconds at the
 * latest.
 */
export function startService(directory: string, script: string, env: Record<string, string>): ServiceProcess {
  const file = join(directory, `service-${process.hrtime.bigint()}.js`);
  writeFileSync(file, script);
  const child = spawn(process.execPath, [file], {
    env: { PATH: process.env['PATH'], GATEWAY_ADMIN_PORT: '0', GATEWAY_REPLICA: 'one', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LIFETIME_MS,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  const waiting = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    for (const look of waiting) look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const lines = () =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as LogLine);
  const exit = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  return {
    pid: child.pid as number,
    get lines() {
      return lines();
    },
    stdout: () => stdout,
    stderr: () => stderr,
    line: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const line = lines().find((candidate) => candidate.text === text);
          if (!line) return;
          waiting.delete(look);
          resolve(line);
        };
        waiting.add(look);
        look();
        void exit.then(() => reject(new Error(`ended without the line "${text}":\n${stdout}${stderr}`)));
      }),
    exit,
    signal: (name) => void child.kill(name),
  };
}
