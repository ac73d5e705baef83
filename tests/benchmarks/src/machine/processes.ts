import { readFileSync, readdirSync } from 'node:fs';

/** Root processes by name. Their descendants belong to the same group. */
export type ProcessGroups = Readonly<Record<string, readonly number[]>>;

/** Values of `/proc/<pid>/stat`, for all threads together. Times in clock ticks. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly ownTicks: number;
  /** Time of children that have ended and were waited for. */
  readonly endedChildrenTicks: number;
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
  const [pid, parent] = [Number.parseInt(text, 10), at(1)];
  const stat = { pid, parent, ownTicks: at(11) + at(12), endedChildrenTicks: at(13) + at(14) };
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
  return mapGroups(groups, (roots, name) => {
    const members = treeOf(name, roots, stats).filter(({ pid }) => !except.includes(pid));
    return (
      members.reduce((sum, { ownTicks, endedChildrenTicks }) => sum + ownTicks + endedChildrenTicks, 0) * TICK_MICROS
    );
  });
}

/** Returns the roots of a group and all their living descendants. */
export function pidsOf(roots: readonly number[]): number[] {
  return treeOf('the group', roots, readAllStats()).map(({ pid }) => pid);
}

/** Returns the proportional set size of each group in bytes: shared pages count once. */
export function readMemory(groups: ProcessGroups): Record<string, number> {
  return mapGroups(groups, (roots) =>
    pidsOf(roots).reduce((sum, pid) => sum + parseProportionalBytes(readLiving(`/proc/${pid}/smaps_rollup`)), 0),
  );
}

/** Parses `/proc/<pid>/smaps_rollup`. @throws RangeError if the text is invalid */
export function parseProportionalBytes(rollup: string): number {
  const kib = /^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1];
  // Kernel threads and ending processes have no memory.
  if (kib === undefined && rollup !== '') throw new RangeError('no proportional set size in smaps_rollup');
  return Number(kib ?? 0) * KIB;
}

/** Number of waits, and thus wake-ups, of each thread since its start, by process group. */
export type Waits = Readonly<Record<string, ReadonlyMap<number, number>>>;

/** Reads all threads of the groups. `except` are processes that only serve the measurement. */
export function readWaits(groups: ProcessGroups, except: readonly number[]): Waits {
  return mapGroups(groups, (roots) => {
    const pids = pidsOf(roots).filter((pid) => !except.includes(pid));
    return new Map(pids.flatMap(threadsOf));
  });
}

/** Returns the wake-ups by group between two readings, without threads that have ended. */
export function wakeUpsBetween(before: Waits, after: Waits): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after).map(([name, threads]) => [
      name,
      [...threads].reduce((sum, [thread, waits]) => sum + waits - (before[name]?.get(thread) ?? 0), 0),
    ]),
  );
}

/** Parses `/proc/<pid>/task/<thread>/status`. @throws RangeError if the text is invalid */
export function parseVoluntaryWaits(status: string): number {
  const count = /^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1];
  if (count === undefined) throw new RangeError('no voluntary context switches in the status of a thread');
  return Number(count);
}

/**
 * Returns an environment variable of a gateway's process, or null if the
 * variable or the process does not exist. Addresses are found this way at every commit, even if its
 * code does not return them. @throws Error if the process has ended
 */
export function readVariable(groups: ProcessGroups, process: string, variable: string): string | null {
  const pid = groups[process]?.[0];
  if (pid === undefined) return null;
  const prefix = `${variable}=`;
  const entries = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  return entries.find((text) => text.startsWith(prefix))?.slice(prefix.length) ?? null;
}

function mapGroups<T>(groups: ProcessGroups, value: (roots: readonly number[], name: string) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(groups).map(([name, roots]) => [name, value(roots, name)]));
}

function treeOf(name: string, roots: readonly number[], stats: readonly ProcessStat[]): ProcessStat[] {
  const tree = roots.map((root) => {
    const stat = stats.find(({ pid }) => pid === root);
    if (stat === undefined) throw new Error(`process ${root} of ${name} has ended`);
    return stat;
  });
  for (const member of tree) tree.push(...stats.filter(({ parent }) => parent === member.pid));
  return tree;
}

function readAllStats(): ProcessStat[] {
  const texts = readdirSync('/proc').map((entry) => (/^\d+$/.test(entry) ? readLiving(`/proc/${entry}/stat`) : ''));
  return texts.filter((text) => text !== '').map(parseProcessStat);
}

function threadsOf(pid: number): [number, number][] {
  const directory = `/proc/${pid}/task`;
  let threads: string[] = [];
  try {
    threads = readdirSync(directory);
  } catch {
    // The process has ended.
  }
  const texts = threads.map((thread) => [Number(thread), readLiving(`${directory}/${thread}/status`)] as const);
  return texts.flatMap(([thread, text]) => (text === '' ? [] : [[thread, parseVoluntaryWaits(text)]]));
}

/** Returns the text of a file, or '' if its process has ended. */
function readLiving(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
