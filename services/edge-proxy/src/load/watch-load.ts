import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { type ConfigOf, type Logger, type Timer, type TimerClock, field } from '@gateway/service-kit';

/** Time between two readings. The lateness of the next reading is the delay. */
const READ_EVERY_MS = 100;

export interface LoadWatchParts {
  readonly limits: LoadLimits;
  readonly memoryShare: () => number;
  /** Returns whether any call is running. */
  readonly hasCalls: () => boolean;
  readonly timers: TimerClock;
  readonly log: Logger;
}

/**
 * Reads the load of this process while calls run or arrive, and decides whether it accepts new
 * ones. It never affects running calls.
 */
export class LoadWatch {
  readonly #parts: LoadWatchParts;
  #timer: Timer | null = null;
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
      this.#readAtMs = this.#parts.timers.monotonicMs();
      this.#timer = this.#parts.timers.setTicker(READ_EVERY_MS, () => this.#read()).unref();
    }
    return this.#state.shedding;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #read(): void {
    const { limits, memoryShare, timers, log } = this.#parts;
    const now = timers.monotonicMs();
    const delayMs = Math.max(0, now - this.#readAtMs - READ_EVERY_MS);
    this.#readAtMs = now;
    const before = this.#state.shedding;
    const reading = { delayMs, memoryShare: memoryShare() };
    this.#state = judgeLoad(this.#state, reading, limits);
    const { shedding } = this.#state;
    if (before === null && shedding !== null) log.warn({ shedding, ...reading }, 'new requests are refused: overload');
    if (before !== null && shedding === null) log.info(reading, 'new requests are accepted again');
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

/** The load of the process at one moment. */
export interface LoadReading {
  /** Delay of the event loop, in milliseconds. */
  readonly delayMs: number;
  /** Used part of the memory that the process may take. 1 is all of it; more is possible. */
  readonly memoryShare: number;
}

/** The limits that begin load shedding, and those that end it. Between them nothing changes. */
export interface LoadLimits {
  readonly delayMsMax: number;
  readonly delayMsRecovered: number;
  readonly memoryShareMax: number;
  readonly memoryShareRecovered: number;
  /** Readings in a row that begin load shedding. A single one may be a short pause. */
  readonly readingsToBegin: number;
  /** Readings in a row after which it ends. */
  readonly readingsToEnd: number;
}

export type LoadReason = 'delay' | 'memory';

export interface LoadState {
  /** Why new calls are refused, or null if they are accepted. */
  readonly shedding: LoadReason | null;
  /** Readings in a row that call for a change. */
  readonly streak: number;
}

export const RECOVERED: LoadState = { shedding: null, streak: 0 };

/** Returns the state after this reading. */
export function judgeLoad(state: LoadState, reading: LoadReading, limits: LoadLimits): LoadState {
  if (state.shedding === null) {
    const reason = findReason(reading, limits);
    if (reason === null) return RECOVERED;
    const streak = state.streak + 1;
    return streak >= limits.readingsToBegin ? { shedding: reason, streak: 0 } : { shedding: null, streak };
  }
  const hasRecovered = reading.delayMs < limits.delayMsRecovered && reading.memoryShare < limits.memoryShareRecovered;
  if (!hasRecovered) return { shedding: findReason(reading, limits) ?? state.shedding, streak: 0 };
  const streak = state.streak + 1;
  return streak >= limits.readingsToEnd ? RECOVERED : { shedding: state.shedding, streak };
}

function findReason(reading: LoadReading, limits: LoadLimits): LoadReason | null {
  if (reading.memoryShare >= limits.memoryShareMax) return 'memory';
  return reading.delayMs >= limits.delayMsMax ? 'delay' : null;
}

const MEBIBYTE = 1024 * 1024;

/** Limits above which the edge refuses new calls. */
export const LOAD_FIELDS = {
  GATEWAY_SHED_DELAY_MS: field.durationMs({
    doc: 'event loop delay that makes the edge refuse new requests; running requests continue',
    default: 1_000,
  }),
  GATEWAY_SHED_MEMORY_BYTES: field.integer({
    doc: 'resident memory in bytes that makes the edge refuse new requests; 85 % of the memory of the container or machine when not set',
    min: 64 * MEBIBYTE,
    max: Number.MAX_SAFE_INTEGER,
    default: null,
  }),
} as const;

/** Limit for the used part of the machine's or container's memory, and of V8's heap limit. */
export const MEMORY_SHARE_MAX = 0.85;
const MEMORY_SHARE_RECOVERED = 0.75;
/** The delay must fall below this part of the limit to end load shedding. */
const DELAY_PART_RECOVERED = 0.25;
const READINGS_TO_BEGIN = 3;
const READINGS_TO_END = 10;

export function readLoadLimits(config: Pick<ConfigOf<typeof LOAD_FIELDS>, 'GATEWAY_SHED_DELAY_MS'>): LoadLimits {
  return {
    delayMsMax: config.GATEWAY_SHED_DELAY_MS,
    delayMsRecovered: config.GATEWAY_SHED_DELAY_MS * DELAY_PART_RECOVERED,
    memoryShareMax: MEMORY_SHARE_MAX,
    memoryShareRecovered: MEMORY_SHARE_RECOVERED,
    readingsToBegin: READINGS_TO_BEGIN,
    readingsToEnd: READINGS_TO_END,
  };
}
