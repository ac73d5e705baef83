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
