import type { AnswerSettings } from './call/answer-call.js';
import type { CallLog } from './call/call-log.js';
import type { Gates } from './scripts/gates.js';
import type { ListenerName } from './scripts/script.js';
import type { ScriptQueue } from './scripts/script-queue.js';

/** Numbers since the start. */
export interface SimulatorCounters {
  calls: Record<ListenerName, number>;
  /** Calls whose client closed before the answer ended. */
  aborted: number;
}

/** What both listeners share. */
export interface SimulatorState {
  /** Of the last call. */
  seq: number;
  scripts: ScriptQueue;
  gates: Gates;
  /** Undefined when calls are not recorded. */
  log: CallLog | undefined;
  settings: AnswerSettings;
  requireKey: string | undefined;
  counters: SimulatorCounters;
  /** Milliseconds since the epoch. */
  now: () => number;
}
