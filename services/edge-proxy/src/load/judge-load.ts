import { type ConfigOf, field } from '@gateway/service-kit';

/** How busy the process is at one moment. */
export interface LoadReading {
  /** How late the event loop was, in milliseconds. */
  readonly delayMs: number;
  /** Used part of the memory that the process may take, 0 to 1 and above. */
  readonly memoryShare: number;
}

/** From where on the edge sheds load, and when it stops: between the two nothing changes. */
export interface LoadLimits {
  readonly delayMsMax: number;
  readonly delayMsRecovered: number;
  readonly memoryShareMax: number;
  readonly memoryShareRecovered: number;
  /**
   * Readings in a row that begin it: one alone may be a pause of the machine or of the collector.
   */
  readonly readingsToBegin: number;
  /** Readings in a row that end it. */
  readonly readingsToEnd: number;
}

export type LoadReason = 'delay' | 'memory';

export interface LoadState {
  /** Why new calls are refused; null: they are not. */
  readonly shedding: LoadReason | null;
  /** Readings in a row that speak for a change. */
  readonly streak: number;
}

export const RECOVERED: LoadState = { shedding: null, streak: 0 };

/** Whether new calls are refused after this reading. */
export function judgeLoad(state: LoadState, reading: LoadReading, limits: LoadLimits): LoadState {
  if (state.shedding === null) {
    const reason = reasonOf(reading, limits);
    if (reason === null) return RECOVERED;
    const streak = state.streak + 1;
    return streak >= limits.readingsToBegin ? { shedding: reason, streak: 0 } : { shedding: null, streak };
  }
  const hasRecovered = reading.delayMs < limits.delayMsRecovered && reading.memoryShare < limits.memoryShareRecovered;
  if (!hasRecovered) return { shedding: reasonOf(reading, limits) ?? state.shedding, streak: 0 };
  const streak = state.streak + 1;
  return streak >= limits.readingsToEnd ? RECOVERED : { shedding: state.shedding, streak };
}

function reasonOf(reading: LoadReading, limits: LoadLimits): LoadReason | null {
  if (reading.memoryShare >= limits.memoryShareMax) return 'memory';
  return reading.delayMs >= limits.delayMsMax ? 'delay' : null;
}

const MEBIBYTE = 1024 * 1024;

/** From when on the edge refuses new calls. */
export const LOAD_FIELDS = {
  GATEWAY_SHED_DELAY_MS: field.durationMs({
    doc: 'new calls are refused while the event loop is late by so much; running ones go on',
    default: 1_000,
  }),
  GATEWAY_SHED_MEMORY_BYTES: field.integer({
    doc: 'new calls are refused while the process holds so much memory; 85 % of what the container or machine has when not set',
    min: 64 * MEBIBYTE,
    max: Number.MAX_SAFE_INTEGER,
    default: null,
  }),
} as const;

/** Of the machine's or the container's memory, and of the heap that V8 allows itself. */
export const MEMORY_SHARE_MAX = 0.85;
const MEMORY_SHARE_RECOVERED = 0.75;
/** Below so much of the delay that begins it. */
const DELAY_PART_RECOVERED = 0.25;
const READINGS_TO_BEGIN = 3;
const READINGS_TO_END = 10;

export function loadLimitsOf(config: Pick<ConfigOf<typeof LOAD_FIELDS>, 'GATEWAY_SHED_DELAY_MS'>): LoadLimits {
  return {
    delayMsMax: config.GATEWAY_SHED_DELAY_MS,
    delayMsRecovered: config.GATEWAY_SHED_DELAY_MS * DELAY_PART_RECOVERED,
    memoryShareMax: MEMORY_SHARE_MAX,
    memoryShareRecovered: MEMORY_SHARE_RECOVERED,
    readingsToBegin: READINGS_TO_BEGIN,
    readingsToEnd: READINGS_TO_END,
  };
}
