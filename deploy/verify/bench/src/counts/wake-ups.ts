import { readFileSync, readdirSync } from 'node:fs';
import { pidsOf } from '../machine/read-cpu.js';
import type { ProcessGroups } from '../machine/read-cpu.js';

/** How often each thread has waited since it began, by process group: it was woken as often. */
export type Waits = Readonly<Record<string, ReadonlyMap<number, number>>>;

/** Reads all threads of the groups; `except` are processes that serve the measuring only. */
export function readWaits(groups: ProcessGroups, except: readonly number[]): Waits {
  const waitsOf = (roots: readonly number[]): ReadonlyMap<number, number> =>
    new Map(
      pidsOf(roots)
        .filter((pid) => !except.includes(pid))
        .flatMap((pid) => threadsOf(pid)),
    );
  return Object.fromEntries(Object.entries(groups).map(([name, roots]) => [name, waitsOf(roots)]));
}

/** Wake-ups by group between two readings; threads that have ended meanwhile are left out. */
export function wakeUpsOf(after: Waits, before: Waits): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after).map(([name, threads]) => {
      const grown = [...threads].map(([thread, waits]) => waits - (before[name]?.get(thread) ?? 0));
      return [name, grown.reduce((sum, one) => sum + one, 0)];
    }),
  );
}

/**
 * The pure part: what `/proc/<pid>/task/<thread>/status` says. @throws RangeError for another text
 */
export function voluntaryWaits(status: string): number {
  const count = /^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1];
  if (count === undefined) throw new RangeError('no voluntary context switches in the status of a thread');
  return Number(count);
}

function threadsOf(pid: number): [number, number][] {
  const directory = `/proc/${pid}/task`;
  try {
    return readdirSync(directory).map((thread) => [
      Number(thread),
      voluntaryWaits(readFileSync(`${directory}/${thread}/status`, 'utf8')),
    ]);
  } catch (error) {
    // It has ended meanwhile.
    if (error instanceof RangeError) throw error;
    return [];
  }
}
