import { runCommand } from './run-command.js';
import type { ServerUser } from './server-kind.js';

/** nobody and nogroup on Linux: PostgreSQL refuses to run as root. */
const UNPRIVILEGED_ID = 65534;
const CHECK_TIMEOUT_MS = 5_000;

/** Returns the user for PostgreSQL; null for the current user, if that is not root. */
export function serverUser(): ServerUser | null {
  return process.getuid?.() === 0 ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : null;
}

/** Reports whether that user can reach `directory` through all of its parents. */
export async function canEnter(directory: string, user: ServerUser | null): Promise<boolean> {
  const result = await runCommand('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { timeoutMs: CHECK_TIMEOUT_MS, user });
  return result.ok;
}

/** Returns null if that user can run `path --version`, else the reason. */
export async function findRunProblem(
  path: string,
  user: ServerUser | null,
  env: Record<string, string>,
): Promise<string | null> {
  const result = await runCommand(path, ['--version'], { timeoutMs: CHECK_TIMEOUT_MS, user, env });
  if (result.ok) return null;
  return `${path} does not run${user ? ` as user ${user.uid} (PostgreSQL refuses root)` : ''}: ${result.problem}`;
}
