import type { ListenerName } from '../scripts/script.js';

/** One received model call. */
export interface CallRecord {
  /** Increases by one with each call of the process, over both listeners. */
  readonly seq: number;
  readonly listener: ListenerName;
  readonly method: string;
  /** As received, with the query. */
  readonly path: string;
  /** Names and values exactly as received, in their order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Undefined if the body names none. */
  readonly model: string | undefined;
  /** True if the client closed the connection before the response or its own body had ended. */
  aborted: boolean;
}

/** Selects calls: those of one model, those after a `seq`. */
export interface CallFilter {
  model?: string | undefined;
  after?: number | undefined;
}

/** The latest calls, bounded by number and by bytes of bodies and headers. The oldest go first. */
export class CallLog {
  readonly #calls = new Map<number, CallRecord>();
  #bytes = 0;

  constructor(
    private readonly callsMax = 10_000,
    private readonly bytesMax = 134_217_728,
  ) {}

  add(call: CallRecord): CallRecord {
    this.#calls.set(call.seq, call);
    this.#bytes += sizeOf(call);
    for (const oldest of this.#calls.values()) {
      if (this.#calls.size <= this.callsMax && this.#bytes <= this.bytesMax) break;
      this.#calls.delete(oldest.seq);
      this.#bytes -= sizeOf(oldest);
    }
    return call;
  }

  /** Returns the calls, oldest first. */
  list({ model, after = 0 }: CallFilter): CallRecord[] {
    return [...this.#calls.values()].filter((call) => call.seq > after && (model ?? call.model) === call.model);
  }
}

function sizeOf({ headers, body, path }: CallRecord): number {
  return headers.flat().reduce((sum, text) => sum + text.length, body.length + path.length);
}
