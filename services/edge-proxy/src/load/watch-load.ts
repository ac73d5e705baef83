import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { Logger } from '@gateway/service-kit';
import {
  type LoadLimits,
  type LoadReason,
  type LoadState,
  MEMORY_SHARE_MAX,
  RECOVERED,
  judgeLoad,
} from './judge-load.js';

/** Time between two readings. The lateness of the next reading is the delay. */
const READ_EVERY_MS = 100;

export interface LoadWatchParts {
  readonly limits: LoadLimits;
  readonly memoryShare: () => number;
  /** Returns whether any call is running. */
  readonly hasCalls: () => boolean;
  readonly monotonicMs: () => number;
  readonly log: Logger;
}

/**
 * Reads the load of this process while calls run or arrive, and decides whether it accepts new
 * ones. It never affects running calls.
 */
export class LoadWatch {
  readonly #parts: LoadWatchParts;
  #timer: NodeJS.Timeout | null = null;
  #state: LoadState = RECOVERED;
  #readAtMs = 0;
  #wasAsked = false;

  constructor(parts: LoadWatchParts) {
    this.#parts = parts;
  }

  /** Why new calls are refused, or null if they are accepted. */
  get shedding(): LoadReason | null {
    this.#wasAsked = true;
    if (this.#timer === null) {
      this.#readAtMs = this.#parts.monotonicMs();
      this.#timer = setInterval(() => this.#read(), READ_EVERY_MS).unref();
    }
    return this.#state.shedding;
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #read(): void {
    const { limits, memoryShare, monotonicMs, log } = this.#parts;
    const now = monotonicMs();
    const delayMs = Math.max(0, now - this.#readAtMs - READ_EVERY_MS);
    this.#readAtMs = now;
    const before = this.#state.shedding;
    const reading = { delayMs, memoryShare: memoryShare() };
    this.#state = judgeLoad(this.#state, reading, limits);
    const { shedding } = this.#state;
    if (before === null && shedding !== null) log.warn({ shedding, ...reading }, 'new calls are refused: overload');
    if (before !== null && shedding === null) log.info(reading, 'new calls are accepted again');
    if (!this.#wasAsked && shedding === null && !this.#parts.hasCalls()) this.stop();
    this.#wasAsked = false;
  }
}

/**
 * Returns a function that reads the used part of the memory that this process may take: of its
 * resident set or of V8's heap, whichever is fuller, since a full heap also ends the process.
 * @param bytesMax limit of the resident memory; null for {@link MEMORY_SHARE_MAX} of the memory of
 * the container or machine
 */
export function makeMemoryReader(bytesMax: number | null): () => number {
  // Without a container limit, Node returns 0 or more than the machine has.
  const constrained = process.constrainedMemory() || Infinity;
  const available = bytesMax === null ? Math.min(constrained, totalmem()) : bytesMax / MEMORY_SHARE_MAX;
  return () => {
    const { used_heap_size: heapUsed, heap_size_limit: heapMax } = getHeapStatistics();
    return Math.max(process.memoryUsage.rss() / available, heapUsed / heapMax);
  };
}
