import type { Ending } from './ending.js';

/** What every step of a run is given. */
export interface BenchContext {
  readonly ending: Ending;
  readonly log: (line: string) => void;
  /** Aborted when the run is to be broken off. */
  readonly signal: AbortSignal;
}
