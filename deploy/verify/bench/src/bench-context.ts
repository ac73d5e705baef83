import type { Ending } from './ending.js';

/** Context of every step of a run. */
export interface BenchContext {
  readonly ending: Ending;
  readonly log: (line: string) => void;
  /** Aborted when the run has to stop. */
  readonly signal: AbortSignal;
}
