import { execFile } from 'node:child_process';
import type { ServerUser } from './server-kind.js';

const OUTPUT_MAX_BYTES = 16 * 1024 * 1024;

export interface CommandOptions {
  timeoutMs: number;
  env?: Record<string, string>;
  cwd?: string;
  user?: ServerUser | null;
}

export interface CommandResult {
  ok: boolean;
  stdout: string;
  /** Standard error, or the reason why the command did not run. */
  problem: string;
}

/** Runs a program without a shell. Never throws. Kills the program after `timeoutMs`. */
export function runCommand(path: string, args: string[], options: CommandOptions): Promise<CommandResult> {
  const { timeoutMs, env, cwd = '/', user } = options;
  return new Promise((resolve) => {
    const settings = {
      timeout: timeoutMs,
      killSignal: 'SIGKILL' as const,
      maxBuffer: OUTPUT_MAX_BYTES,
      cwd,
      env: { ...bareEnvironment(), ...env },
      ...(user ? { uid: user.uid, gid: user.gid } : {}),
    };
    try {
      execFile(path, args, settings, (error, stdout, stderr) => {
        const problem = error?.killed ? `no end within ${timeoutMs} ms` : stderr.trim() || (error?.message ?? '');
        resolve({ ok: error === null, stdout, problem });
      });
    } catch (error) {
      resolve({ ok: false, stdout: '', problem: String(error) });
    }
  });
}

/**
 * Returns the environment of servers and their tools. The caller's environment is not passed on,
 * because variables such as PGPORT, PGDATA or LD_LIBRARY_PATH would change the server. Proxy
 * settings are kept for fetching.
 */
export function bareEnvironment(): Record<string, string> {
  const kept: Record<string, string> = { LC_ALL: 'C', TZ: 'UTC' };
  for (const name of [
    'PATH',
    'TMPDIR',
    'http_proxy',
    'https_proxy',
    'no_proxy',
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'NO_PROXY',
  ]) {
    const value = process.env[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}
