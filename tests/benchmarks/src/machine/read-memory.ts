import { readFileSync } from 'node:fs';
import { pidsOf } from './read-cpu.js';
import type { ProcessGroups } from './read-cpu.js';

const KIB = 1_024;

/** Returns the proportional set size of each group: shared pages count once. */
export function readMemory(groups: ProcessGroups): Record<string, number> {
  return Object.fromEntries(
    Object.entries(groups).map(([name, roots]) => [name, pidsOf(roots).reduce((sum, pid) => sum + bytesOf(pid), 0)]),
  );
}

/** Returns 0 for a process that has ended in the meantime. */
function bytesOf(pid: number): number {
  try {
    return parseProportionalBytes(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
  } catch (error) {
    if (error instanceof RangeError) throw error;
    return 0;
  }
}

/** Parses `/proc/<pid>/smaps_rollup`. @throws RangeError if the text is invalid */
export function parseProportionalBytes(rollup: string): number {
  const kib = /^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1];
  // Kernel threads and ending processes have no memory.
  if (kib === undefined && rollup !== '') throw new RangeError('no proportional set size in smaps_rollup');
  return Number(kib ?? 0) * KIB;
}
