import { readFileSync, readdirSync } from 'node:fs';
import { pidsOf } from '../machine/read-cpu.js';
import type { ProcessGroups } from '../machine/read-cpu.js';

/** Number of waits, and thus wake-ups, of each thread since its start, by process group. */
export type Waits = Readonly<Record<string, ReadonlyMap<number, number>>>;

/** Reads all threads of the groups. `except` are processes that only serve the measurement. */
export function readWaits(groups: ProcessGroups, except: readonly number[]): Waits {
  const waitsOf = (roots: readonly number[]): ReadonlyMap<number, number> =>
    new Map(
      pidsOf(roots)
        .filter((pid) => !except.includes(pid))
        .flatMap((pid) => threadsOf(pid)),
    );
  return Object.fromEntries(Object.entries(groups).map(([name, roots]) => [name, waitsOf(roots)]));
}

/** Returns the wake-ups by group between two readings, without threads that have ended. */
export function wakeUpsOf(after: Waits, before: Waits): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after).map(([name, threads]) => {
      const grown = [...threads].map(([thread, waits]) => waits - (before[name]?.get(thread) ?? 0));
      return [name, grown.reduce((sum, one) => sum + one, 0)];
    }),
  );
}

/** Parses `/proc/<pid>/task/<thread>/status`. @throws RangeError if the text is invalid */
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
    // The process has ended in the meantime.
    if (error instanceof RangeError) throw error;
    return [];
  }
}
