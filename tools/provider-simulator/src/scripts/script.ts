/** The simulator's two addresses. A model with two sources uses one each. */
export type ListenerName = 'a' | 'b';

/**
 * The end of a scripted response: `normal` as in HTTP; `reset` with a TCP reset; `stall` without
 * further bytes until the client disconnects; `cut` by closing the connection without the last
 * chunk.
 */
export type ScriptEnd = 'normal' | 'reset' | 'stall' | 'cut';

/**
 * Token numbers that each endpoint translates into its own usage object. `cachedInput` and
 * `cacheWrite` are parts of `input`.
 */
export interface TokenCounts {
  input: number;
  cachedInput: number;
  cacheWrite: number;
  output: number;
}

/**
 * Partial token numbers, an object in the provider's own form that is written unchanged, or null:
 * the response reports no usage.
 */
export type ScriptUsage = Partial<TokenCounts> | Record<string, unknown> | null;

/** One step of a script as clients send it. The README describes each combination. */
export type ScriptStep =
  | { status?: number; headers?: Record<string, string | string[]>; headersDelayMs?: number }
  | { chunk: string; delayMs?: number }
  | { bytesBase64: string; delayMs?: number }
  | { delayMs: number }
  | { waitFor: string }
  | { usage: ScriptUsage }
  | { end: ScriptEnd };

/** The response to the next `times` calls of a model (default 1), on one listener or on both. */
export interface Script {
  model: string;
  times?: number;
  listener?: ListenerName;
  steps: ScriptStep[];
}

/** A validated script as a sequence of actions with all defaults filled in. */
export type ScriptAction =
  | { kind: 'head'; status: number; headers: Record<string, string | string[]>; delayMs: number }
  | { kind: 'bytes'; bytes: Buffer; delayMs: number }
  | { kind: 'pause'; delayMs: number }
  | { kind: 'wait'; semaphore: string }
  | { kind: 'answer'; usage: ScriptUsage | undefined }
  | { kind: 'error'; status: number }
  | { kind: 'end'; how: ScriptEnd };

/** A queued script. `actions` always ends with one `end`. */
export interface PreparedScript {
  model: string;
  times: number;
  listener: ListenerName | undefined;
  actions: ScriptAction[];
}

/** Thrown for an invalid script or other control input. The text names the field. */
export class InvalidControlInput extends Error {
  override readonly name = 'InvalidControlInput';
}
