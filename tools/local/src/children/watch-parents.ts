import { readFileSync } from 'node:fs';

/** Poll interval. After a kill -9 of npm its node child gets no signal, so the child polls. */
const WATCH_MS = 500;

/**
 * Calls back once when npm or the shell between has ended. Does nothing if npm did not start the
 * process. Processes above npm are not watched: a closed terminal sends its own signal.
 */
export function watchParents(onGone: () => void): void {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const parent = process.ppid;
  const isNpm = readProc(parent, 'cmdline').includes('npm');
  const shell = isNpm ? null : { pid: parent, parent: parentOf(parent) };
  const timer = setInterval(() => {
    if (process.ppid === parent && (shell === null || parentOf(shell.pid) === shell.parent)) return;
    clearInterval(timer);
    onGone();
  }, WATCH_MS).unref();
}

/** Returns the parent's pid as text; an empty text if the system does not list processes. */
function parentOf(pid: number): string {
  // The command in parentheses may contain spaces; the later fields do not.
  return /^.*\) \S+ (\d+)/s.exec(readProc(pid, 'stat'))?.[1] ?? '';
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
