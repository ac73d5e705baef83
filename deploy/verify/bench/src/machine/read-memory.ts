import { readFileSync } from 'node:fs';
import { pidsOf } from './read-cpu.js';
import type { ProcessGroups } from './read-cpu.js';

const KIB = 1_024;

/**
 * Resident bytes of each group's processes, pages that several share counted once (their
 * proportional set size).
 */
export function readMemory(groups: ProcessGroups): Record<string, number> {
  return Object.fromEntries(
    Object.entries(groups).map(([name, roots]) => [name, pidsOf(roots).reduce((sum, pid) => sum + bytesOf(pid), 0)]),
  );
}

/** 0 for one that has ended meanwhile. */
function bytesOf(pid: number): number {
  try {
    return proportionalBytes(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
  } catch (error) {
    if (error instanceof RangeError) throw error;
    return 0;
  }
}

/** The pure part: what `/proc/<pid>/smaps_rollup` says. @throws RangeError for another text */
export function proportionalBytes(rollup: string): number {
  const kib = /^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1];
  // A kernel thread and a process that is ending have no memory.
  if (kib === undefined && rollup !== '') throw new RangeError('no proportional set size in smaps_rollup');
  return Number(kib ?? 0) * KIB;
}
