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

/** Time between two readings: a delay shows as the lateness of the next. */
const READ_EVERY_MS = 100;

export interface LoadWatchParts {
  readonly limits: LoadLimits;
  readonly memoryShare: () => number;
  /** Whether any call runs. */
  readonly hasCalls: () => boolean;
  readonly monotonicMs: () => number;
  readonly log: Logger;
}

/**
 * Reads how busy this process is, while calls run or come, and says whether it takes new ones.
 * Running ones are never touched.
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

  /** Why new calls are refused; null: they are not. */
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
    if (before !== null && shedding === null) log.info(reading, 'new calls are taken again');
    if (!this.#wasAsked && shedding === null && !this.#parts.hasCalls()) this.stop();
    this.#wasAsked = false;
  }
}

/**
 * Used part of the memory that this process may take, of its resident set or of V8's heap,
 * whichever is fuller: a full heap ends the process too.
 * @param bytesMax resident bytes at which load is shed; null: {@link MEMORY_SHARE_MAX} of what the
 * container or machine has
 */
export function makeMemoryReader(bytesMax: number | null): () => number {
  // Without a limit the container's is 0, or beyond what the machine has.
  const constrained = process.constrainedMemory() || Infinity;
  const available = bytesMax === null ? Math.min(constrained, totalmem()) : bytesMax / MEMORY_SHARE_MAX;
  return () => {
    const { used_heap_size: heapUsed, heap_size_limit: heapMax } = getHeapStatistics();
    return Math.max(process.memoryUsage.rss() / available, heapUsed / heapMax);
  };
}
