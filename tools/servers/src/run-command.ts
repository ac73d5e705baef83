import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerUser } from './server-kind.js';

const OUTPUT_MAX_BYTES = 16 * 1024 * 1024;
const CHECK_TIMEOUT_MS = 5_000;
const POLL_MS = 20;
/** nobody and nogroup on Linux: PostgreSQL refuses to run as root. */
const UNPRIVILEGED_ID = 65534;

export interface CommandOptions {
  timeoutMs?: number;
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
export function runCommand(path: string, args: string[], options: CommandOptions = {}): Promise<CommandResult> {
  const { timeoutMs = CHECK_TIMEOUT_MS, env, cwd = '/', user } = options;
  return new Promise((resolve) => {
    const settings = {
      timeout: timeoutMs,
      killSignal: 'SIGKILL' as const,
      maxBuffer: OUTPUT_MAX_BYTES,
      cwd,
      env: { ...bareEnvironment(), ...env },
      ...user,
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
  const kept = Object.entries(process.env).filter(([name]) => /^(PATH|TMPDIR|(https?|no)_proxy)$/i.test(name));
  return { ...(Object.fromEntries(kept) as Record<string, string>), LC_ALL: 'C', TZ: 'UTC' };
}

/** Returns the user for PostgreSQL; null for the current user, if that is not root. */
export function serverUser(): ServerUser | null {
  return process.getuid?.() === 0 ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : null;
}

/** Reports whether that user can reach `directory` through all of its parents. */
export async function canEnter(directory: string, user: ServerUser | null): Promise<boolean> {
  return (await runCommand('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { user })).ok;
}

/** Returns null if PostgreSQL's user can run `path --version`, else the reason. */
export async function findRunProblem(path: string): Promise<string | null> {
  const user = serverUser();
  const result = await runCommand(path, ['--version'], { user });
  if (result.ok) return null;
  return `${path} does not run${user ? ` as user ${user.uid} (PostgreSQL refuses root)` : ''}: ${result.problem}`;
}

/** Sends a signal to a process or, if negative, its group. Ignores a missing process. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Checks `holds` every 20 ms. Returns false if it is still false after `timeoutMs`. */
export async function waitUntil(timeoutMs: number, holds: () => boolean | Promise<boolean>): Promise<boolean> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    if (await holds()) return true;
    if (performance.now() >= until) return false;
    await delay(POLL_MS);
  }
}
