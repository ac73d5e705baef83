/** What `/proc/<pid>/stat` says of a process; all threads together. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** User and system time, in clock ticks. */
  readonly ownTicks: number;
  /** The same of children that have ended and were waited for, in clock ticks. */
  readonly endedChildrenTicks: number;
}

/**
 * Microseconds of one clock tick: Linux shows times to programs in 1/100 s on every machine
 * (USER_HZ).
 */
export const TICK_MICROS = 10_000;

const PARENT_FIELD = 1;
const OWN_FIELDS = [11, 12] as const;
const ENDED_CHILDREN_FIELDS = [13, 14] as const;

/**
 * @throws RangeError for another text. The name may hold spaces and brackets: fields are counted
 * after its last bracket.
 */
export function parseProcessStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const numberAt = (index: number): number => Number(fields[index] ?? Number.NaN);
  const sumOf = (indexes: readonly number[]): number => indexes.reduce((sum, index) => sum + numberAt(index), 0);
  const stat = {
    pid: Number.parseInt(text, 10),
    parent: numberAt(PARENT_FIELD),
    ownTicks: sumOf(OWN_FIELDS),
    endedChildrenTicks: sumOf(ENDED_CHILDREN_FIELDS),
  };
  if (!Object.values(stat).every(Number.isInteger)) throw new RangeError(`not a process's stat: ${text}`);
  return stat;
}
