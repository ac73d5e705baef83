import { readFileSync } from 'node:fs';

/** Poll interval. After a kill -9 of npm its node child gets no signal, so the child polls. */
const WATCH_MS = 500;
/** Only npm and its shell are watched: a closed terminal sends its own signal. */
const PARENTS_MAX = 2;

/**
 * Calls back once when npm or the shell between has ended. Does nothing if npm did not start the
 * process or the system does not list processes.
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

/** Returns this process and its ancestors up to npm, each with its current parent. */
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
    // The command in parentheses may contain spaces; the later fields do not.
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
