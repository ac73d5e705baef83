import { readFileSync } from 'node:fs';

/** A kill -9 of npm leaves its node child running without a signal, so the child polls. */
const WATCH_MS = 500;
/** Only npm and its shell are watched: a terminal that is closed sends its own signal. */
const PARENTS_MAX = 2;

/**
 * Calls back once when npm, or the shell between, is gone. Does nothing when the process was not
 * started by npm or the system shows no processes.
 */
export function watchParents(onGone: () => void): () => void {
  if (process.env['npm_lifecycle_event'] === undefined) return () => undefined;
  const chain = ancestors(PARENTS_MAX);
  const timer = setInterval(() => {
    if (chain.every(({ pid, parent }) => parentOf(pid) === parent)) return;
    clearInterval(timer);
    onGone();
  }, WATCH_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** This process and its ancestors up to npm, each with its parent as it is now. */
function ancestors(most: number): { pid: number; parent: number }[] {
  const chain: { pid: number; parent: number }[] = [];
  let pid = process.pid;
  while (chain.length < most) {
    const parent = parentOf(pid);
    if (parent === null || parent <= 1) break;
    chain.push({ pid, parent });
    if (commandOf(parent).includes('npm')) break;
    pid = parent;
  }
  return chain;
}

function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command in parentheses may hold spaces; the fields after it do not.
    const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(parent);
  } catch {
    return null;
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
