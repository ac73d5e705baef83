import type { ListenerName } from '../scripts/script.js';

/** Maximum number of stored calls. The oldest one is dropped first. */
export const CALLS_MAX = 10_000;
/** Maximum bytes of stored bodies and headers: 128 MiB. */
export const BYTES_MAX = 134_217_728;

/** One received model call, as returned by `GET /__calls`. */
export interface CallRecord {
  /** Increases by one with each call of the process, over both listeners. */
  seq: number;
  /** Time at which the body was complete, RFC 3339 UTC. */
  at: string;
  listener: ListenerName;
  method: string;
  /** As received, with the query. */
  path: string;
  /** Names and values exactly as received, in their order. */
  headers: [string, string][];
  bodyBase64: string;
  /** True if the client closed the connection before the response or its own body had ended. */
  aborted: boolean;
}

/** Selects calls: those of one model, those after a `seq`. */
export interface CallFilter {
  model?: string;
  after?: number;
}

/** One call in the log. Its strings are created only when it is read. */
export interface LoggedCall {
  seq: number;
  atMs: number;
  listener: ListenerName;
  method: string;
  path: string;
  rawHeaders: readonly string[];
  body: Buffer;
  model: string | undefined;
  aborted: boolean;
}

/** The latest calls, bounded by number and by bytes. */
export class CallLog {
  readonly #calls = new Map<number, LoggedCall>();
  readonly #callsMax: number;
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(callsMax: number, bytesMax: number) {
    this.#callsMax = callsMax;
    this.#bytesMax = bytesMax;
  }

  add(call: LoggedCall): void {
    this.#calls.set(call.seq, call);
    this.#bytes += sizeOf(call);
    for (const oldest of this.#calls.values()) {
      if (this.#calls.size <= this.#callsMax && this.#bytes <= this.#bytesMax) return;
      this.#calls.delete(oldest.seq);
      this.#bytes -= sizeOf(oldest);
    }
  }

  /** Returns the calls, oldest first. */
  list(filter: CallFilter): CallRecord[] {
    const found: CallRecord[] = [];
    for (const call of this.#calls.values()) {
      if (filter.after !== undefined && call.seq <= filter.after) continue;
      if (filter.model !== undefined && call.model !== filter.model) continue;
      found.push(toRecord(call));
    }
    return found;
  }
}

function toRecord(call: LoggedCall): CallRecord {
  const headers: [string, string][] = [];
  for (let index = 0; index + 1 < call.rawHeaders.length; index += 2) {
    headers.push([call.rawHeaders[index] as string, call.rawHeaders[index + 1] as string]);
  }
  return {
    seq: call.seq,
    at: new Date(call.atMs).toISOString(),
    listener: call.listener,
    method: call.method,
    path: call.path,
    headers,
    bodyBase64: call.body.toString('base64'),
    aborted: call.aborted,
  };
}

function sizeOf(call: LoggedCall): number {
  return call.rawHeaders.reduce((sum, text) => sum + text.length, call.body.length + call.path.length);
}
