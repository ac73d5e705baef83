import type { AnswerSettings } from './call/answer-call.js';
import type { CallLog } from './call/call-log.js';
import type { Semaphores } from './scripts/semaphores.js';
import type { ListenerName } from './scripts/script.js';
import type { ScriptQueue } from './scripts/script-queue.js';

/** Counts since the start. */
export interface SimulatorCounters {
  calls: Record<ListenerName, number>;
  /** Calls whose client disconnected before the response ended. */
  aborted: number;
}

/** The state that both listeners share. */
export interface SimulatorState {
  /** The number of the latest call. */
  seq: number;
  scripts: ScriptQueue;
  semaphores: Semaphores;
  /** Undefined if calls are not recorded. */
  log: CallLog | undefined;
  settings: AnswerSettings;
  requireKey: string | undefined;
  counters: SimulatorCounters;
  /** Milliseconds since the epoch. */
  now: () => number;
}
