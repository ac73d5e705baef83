/** What a proof under random faults was asked for. */
export interface FaultsAsked {
  readonly calls: number;
  readonly faults: number;
  /** Calls of one slice at most: a slice has a system of its own, whose books fit into memory. */
  readonly slice: number;
}

/** One part of the proof: what it takes to play it again. */
export interface Slice {
  readonly calls: number;
  readonly faults: number;
  readonly seed: number;
}

/** What a slice has shown. */
export interface SliceFigures {
  /** Of the load, without start and end of the system. */
  readonly ms: number;
  /** Differences found by the checker. */
  readonly differences: number;
  /** By the name of the fault: how long until all edges served, each time, milliseconds. */
  readonly faults: Readonly<Record<string, readonly number[]>>;
  /** Calls by what became of them. */
  readonly calls: Readonly<Record<string, number>>;
}

/** The figures of all slices, as they are kept between runs. */
export interface FaultsFigures extends SliceFigures {
  readonly asked: FaultsAsked;
  /** Of the first slice; each further one has the next. */
  readonly seed: number;
  readonly slices: readonly (Slice & { readonly differences: number })[];
}

/**
 * The figures that a run adds to: those of the run before, unless it had reached its end or was
 * asked for something else.
 */
export function beginOrGoOn(before: FaultsFigures | null, asked: FaultsAsked, seed: number): FaultsFigures {
  const isSame =
    before?.asked.calls === asked.calls && before.asked.faults === asked.faults && before.asked.slice === asked.slice;
  if (isSame && dueSlice(before) !== null) return before;
  return { asked, seed, slices: [], ms: 0, differences: 0, faults: {}, calls: {} };
}

/** The next slice with its share of calls and faults; null: all that was asked for is done. */
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
