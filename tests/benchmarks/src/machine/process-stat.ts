/** Values of `/proc/<pid>/stat`, for all threads together. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** User and system time, in clock ticks. */
  readonly ownTicks: number;
  /** User and system time of children that have ended and were waited for, in clock ticks. */
  readonly endedChildrenTicks: number;
}

/** Microseconds per clock tick. Linux reports times in 1/100 s on every machine (USER_HZ). */
export const TICK_MICROS = 10_000;

const PARENT_FIELD = 1;
const OWN_FIELDS = [11, 12] as const;
const ENDED_CHILDREN_FIELDS = [13, 14] as const;

/**
 * Parses the text. The name may contain spaces and brackets, so fields are counted after its last
 * bracket. @throws RangeError if the text is invalid
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
  if (!Object.values(stat).every(Number.isInteger)) throw new RangeError(`invalid process stat: ${text}`);
  return stat;
}
