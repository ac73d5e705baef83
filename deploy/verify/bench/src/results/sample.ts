import type { LoadResult } from '../load/load-job.js';
import type { PeerId } from '../peers/peer.js';

/** One measurement of one peer in one scenario and round. */
export interface Sample {
  readonly round: number;
  readonly scenario: string;
  readonly peer: PeerId;
  /** `failures` include those of the warm-up. */
  readonly result: LoadResult;
  /** Failed calls, including those of the warm-up. */
  readonly failed: number;
  /** By process, in microseconds. */
  readonly cpuMicros: Readonly<Record<string, number>>;
  /** CPU of load and provider together, in microseconds. */
  readonly loadMicros: number;
}

/** CPU of a gateway while no call runs. */
export interface IdleReading {
  readonly round: number;
  readonly peer: PeerId;
  /** Microseconds per second, by process. */
  readonly cpuMicrosPerSecond: Readonly<Record<string, number>>;
}
