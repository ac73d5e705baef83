interface Run {
  readonly id: string;
  /** When the newest epoch of the run was set, in epoch milliseconds. */
  readonly setAt: number;
}

/**
 * Whether one run of Redis is later than another one (docs/protocol.md#r12). Edges and admission
 * use the same rule. If both have the same time, the greater ID is later.
 */
export function isLaterRun(one: Run, other: Run): boolean {
  return one.setAt > other.setAt || (one.setAt === other.setAt && one.id > other.id);
}
