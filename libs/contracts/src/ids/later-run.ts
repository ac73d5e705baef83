interface Run {
  readonly id: string;
  /** When its newest epoch was set, epoch milliseconds. */
  readonly setAt: number;
}

/**
 * Whether a run of Redis is later than another one, for edges and admission alike
 * (docs/protocol.md#r12). Of two with epochs of one time the one with the greater id is.
 */
export function isLater(one: Run, other: Run): boolean {
  return one.setAt > other.setAt || (one.setAt === other.setAt && one.id > other.id);
}
