/** Parameters of a run under random faults. */
export interface FaultsAsked {
  readonly calls: number;
  readonly faults: number;
  /** Most calls in one slice. Each slice has a new system, and its logs fit into memory. */
  readonly slice: number;
}

/** Parameters to repeat one slice. */
export interface Slice {
  readonly calls: number;
  readonly faults: number;
  readonly seed: number;
}

/** Results of a slice. */
export interface SliceFigures {
  /** Duration of the load, without the start and the stop of the system. */
  readonly ms: number;
  /** Differences found by the checker. */
  readonly differences: number;
  /** By fault: milliseconds until all edges served calls again, once for each occurrence. */
  readonly faults: Readonly<Record<string, readonly number[]>>;
  /** Number of calls by result. */
  readonly calls: Readonly<Record<string, number>>;
}

/** Results of all slices, which are stored between runs. */
export interface FaultsFigures extends SliceFigures {
  readonly asked: FaultsAsked;
  /** Seed of the first slice; each further slice adds 1. */
  readonly seed: number;
  readonly slices: readonly (Slice & { readonly differences: number })[];
}

/**
 * Continues the previous results if they are incomplete and have the same parameters. Otherwise
 * starts new ones.
 */
export function beginOrGoOn(before: FaultsFigures | null, asked: FaultsAsked, seed: number): FaultsFigures {
  const isSame =
    before?.asked.calls === asked.calls && before.asked.faults === asked.faults && before.asked.slice === asked.slice;
  if (isSame && dueSlice(before) !== null) return before;
  return { asked, seed, slices: [], ms: 0, differences: 0, faults: {}, calls: {} };
}

/** Returns the next slice with its share of calls and faults; null if all slices are done. */
export function dueSlice({ asked, seed, slices }: FaultsFigures): Slice | null {
  const index = slices.length;
  const count = Math.ceil(asked.calls / asked.slice);
  if (index >= count) return null;
  const share = (of: number): number => Math.floor((of * (index + 1)) / count) - Math.floor((of * index) / count);
  return { calls: share(asked.calls), faults: share(asked.faults), seed: seed + index };
}

export function addSlice(figures: FaultsFigures, slice: Slice, added: SliceFigures): FaultsFigures {
  const faults = { ...figures.faults };
  for (const [name, times] of Object.entries(added.faults)) faults[name] = [...(faults[name] ?? []), ...times];
  const calls = { ...figures.calls };
  for (const [name, count] of Object.entries(added.calls)) calls[name] = (calls[name] ?? 0) + count;
  return {
    ...figures,
    slices: [...figures.slices, { ...slice, differences: added.differences }],
    ms: figures.ms + added.ms,
    differences: figures.differences + added.differences,
    faults,
    calls,
  };
}
