import type { ListenerName } from '../scripts/script.js';

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
  model?: string | undefined;
  after?: number | undefined;
}

/** One call in the log. Its strings are created only when it is read. */
export interface LoggedCall extends Omit<CallRecord, 'at' | 'headers' | 'bodyBase64'> {
  atMs: number;
  rawHeaders: readonly string[];
  body: Buffer;
  model: string | undefined;
}

/** The latest calls, bounded by number and by bytes of bodies and headers. The oldest go first. */
export class CallLog {
  readonly #calls = new Map<number, LoggedCall>();
  #bytes = 0;

  constructor(
    private readonly callsMax = 10_000,
    private readonly bytesMax = 134_217_728,
  ) {}

  add(call: LoggedCall): LoggedCall {
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
    const isListed = (call: LoggedCall) => call.seq > after && (model === undefined || call.model === model);
    return [...this.#calls.values()].filter(isListed).map(toRecord);
  }
}

function toRecord({ atMs, rawHeaders, body, model: _model, ...call }: LoggedCall): CallRecord {
  const headers = rawHeaders.flatMap((name, at): [string, string][] =>
    at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? '']] : [],
  );
  return { ...call, at: new Date(atMs).toISOString(), headers, bodyBase64: body.toString('base64') };
}

function sizeOf(call: LoggedCall): number {
  return call.rawHeaders.reduce((sum, text) => sum + text.length, call.body.length + call.path.length);
}
