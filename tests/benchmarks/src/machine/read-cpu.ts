import { readFileSync, readdirSync } from 'node:fs';
import { TICK_MICROS, parseProcessStat } from './process-stat.js';
import type { ProcessStat } from './process-stat.js';

/** Root processes by name. Their descendants belong to the same group. */
export type ProcessGroups = Readonly<Record<string, readonly number[]>>;

/** CPU microseconds by group. */
export type CpuByGroup = Readonly<Record<string, number>>;

/**
 * Returns the CPU time of each group since its processes began: the roots, their living descendants
 * and the ended ones. `except` are processes that only serve the measurement. @throws Error if a
 * root has ended, because its time would be missing
 */
export function readCpu(groups: ProcessGroups, except: readonly number[] = []): CpuByGroup {
  return sumCpu(groups, readAllStats(), except);
}

/** Computes the result of {@link readCpu} from given stats. */
export function sumCpu(
  groups: ProcessGroups,
  stats: readonly ProcessStat[],
  except: readonly number[] = [],
): CpuByGroup {
  return Object.fromEntries(
    Object.entries(groups).map(([name, roots]) => {
      const ticks = treeOf(name, roots, stats)
        .filter((stat) => !except.includes(stat.pid))
        .reduce((sum, stat) => sum + stat.ownTicks + stat.endedChildrenTicks, 0);
      return [name, ticks * TICK_MICROS];
    }),
  );
}

/** Returns the roots of a group and all their living descendants. */
export function pidsOf(roots: readonly number[]): number[] {
  return treeOf('the group', roots, readAllStats()).map((stat) => stat.pid);
}

function treeOf(name: string, roots: readonly number[], stats: readonly ProcessStat[]): ProcessStat[] {
  const tree: ProcessStat[] = roots.map((root) => {
    const stat = stats.find((candidate) => candidate.pid === root);
    if (stat === undefined) throw new Error(`process ${root} of ${name} has ended`);
    return stat;
  });
  for (const member of tree) tree.push(...stats.filter((stat) => stat.parent === member.pid));
  return tree;
}

function readAllStats(): ProcessStat[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      return [parseProcessStat(readFileSync(`/proc/${entry}/stat`, 'utf8'))];
    } catch (error) {
      // Processes may end while the directory is read.
      if (error instanceof RangeError) throw error;
      return [];
    }
  });
}
