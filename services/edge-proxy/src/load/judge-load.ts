import { type ConfigOf, field } from '@gateway/service-kit';

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
