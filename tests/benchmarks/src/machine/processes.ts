import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Root processes by name. Their descendants belong to the same group. */
export type ProcessGroups = Readonly<Record<string, readonly number[]>>;

/** Values of `/proc/<pid>/stat`, for all threads together. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** Clock ticks, with those of children that have ended and were waited for. */
  readonly ticks: number;
}

/** Microseconds per clock tick. Linux reports times in 1/100 s on every machine (USER_HZ). */
export const TICK_MICROS = 10_000;
const KIB = 1_024;

/**
 * Parses the text. The name may contain spaces and brackets, so fields are counted after its last
 * bracket. @throws RangeError if the text is invalid
 */
export function parseProcessStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const at = (index: number): number => Number(fields[index] ?? NaN);
  const stat = { pid: Number.parseInt(text, 10), parent: at(1), ticks: at(11) + at(12) + at(13) + at(14) };
  if (!Object.values(stat).every(Number.isInteger)) throw new RangeError(`invalid process stat: ${text}`);
  return stat;
}

/**
 * Returns the CPU microseconds of each group since its processes began: the roots, their living
 * descendants and the ended ones. `except` are processes that only serve the measurement.
 * @throws Error if a root has ended, because its time would be missing
 */
export function readCpu(groups: ProcessGroups, except: readonly number[] = []): Record<string, number> {
  return sumCpu(groups, readAllStats(), except);
}

/** Computes the result of {@link readCpu} from given stats. */
export function sumCpu(
  groups: ProcessGroups,
  stats: readonly ProcessStat[],
  except: readonly number[] = [],
): Record<string, number> {
  return mapGroups(groups, (roots) => {
    const members = treeOf(roots, stats).filter(({ pid }) => !except.includes(pid));
    return members.reduce((sum, { ticks }) => sum + ticks, 0) * TICK_MICROS;
  });
}

/** Returns the roots of a group and all their living descendants. */
export function pidsOf(roots: readonly number[]): number[] {
  return treeOf(roots, readAllStats()).map(({ pid }) => pid);
}

/** Returns the proportional set size of each group in bytes: shared pages count once. */
export function readMemory(groups: ProcessGroups): Record<string, number> {
  const bytesOf = (pid: number) =>
    Number(/^Pss:\s+(\d+) kB$/m.exec(readLiving(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * KIB;
  return mapGroups(groups, (roots) => pidsOf(roots).reduce((sum, pid) => sum + bytesOf(pid), 0));
}

/**
 * Returns an environment variable of a gateway's process, or undefined. Addresses are found this
 * way at every commit, even if its code does not return them.
 */
export function readVariable(groups: ProcessGroups, process: string, variable: string): string | undefined {
  const entries = readLiving(`/proc/${groups[process]?.[0]}/environ`).split('\0');
  return entries.find((text) => text.startsWith(`${variable}=`))?.slice(variable.length + 1);
}

/** Core of the measured processes, and core of the load, the provider and the measurement. */
const CORES = { measured: 0, load: 1 } as const;

/** Reports whether {@link pin} works: it needs two cores and `taskset`. */
export function canPin(): boolean {
  try {
    execFileSync('taskset', ['-V'], { stdio: 'ignore' });
    return availableParallelism() > 1;
  } catch {
    return false;
  }
}

/**
 * Pins a process with its threads to one core. Its later children start there, so that programs
 * that create a thread for each core create only one.
 */
export function pin(pid: number, place: keyof typeof CORES): void {
  execFileSync('taskset', ['-a', '-c', '-p', String(CORES[place]), String(pid)], { stdio: 'ignore' });
}

function mapGroups<T>(groups: ProcessGroups, value: (roots: readonly number[]) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(groups).map(([name, roots]) => [name, value(roots)]));
}

function treeOf(roots: readonly number[], stats: readonly ProcessStat[]): ProcessStat[] {
  const tree = roots.map((root) => {
    const stat = stats.find(({ pid }) => pid === root);
    if (stat === undefined) throw new Error(`process ${root} has ended`);
    return stat;
  });
  for (const member of tree) tree.push(...stats.filter(({ parent }) => parent === member.pid));
  return tree;
}

function readAllStats(): ProcessStat[] {
  const texts = readdirSync('/proc').map((entry) => (/^\d+$/.test(entry) ? readLiving(`/proc/${entry}/stat`) : ''));
  return texts.filter((text) => text !== '').map(parseProcessStat);
}

/** Returns the text of a file, or '' if its process has ended. */
function readLiving(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
