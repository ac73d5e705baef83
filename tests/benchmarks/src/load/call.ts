import { gunzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { ExpectedResponse } from './load.js';

/** Bytes that are kept of the body's end, to check how it ended. */
const TAIL_BYTES = 32;
/** Longest gzip body, decompressed. */
const DECODED_BYTES_MAX = 1_048_576;

/** Result of one call at its client. Times are milliseconds of `performance.now()`. */
export interface CallOutcome {
  /** Null if the response was complete and as expected. */
  readonly failure: string | null;
  readonly startedAt: number;
  readonly firstByteAt: number;
  readonly endedAt: number;
}

/** Reads one response without keeping its body, unless it is encoded. */
export class Call implements Dispatcher.DispatchHandler {
  readonly #startedAt = performance.now();
  #firstByteAt = 0;
  #status = 0;
  #bytes = 0;
  #tail: Buffer = Buffer.alloc(0);
  /** Parts of a gzip body, or null. */
  #encoded: Buffer[] | null = null;

  constructor(
    private readonly expected: ExpectedResponse,
    private readonly done: (outcome: CallOutcome) => void,
  ) {}

  /** undici recognises this form of handlers by this method. */
  onRequestStart(): void {
    this.#firstByteAt = 0;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.#firstByteAt === 0) this.#firstByteAt = performance.now();
    this.#status = status;
    if (headers['content-encoding'] === 'gzip') this.#encoded = [];
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#encoded !== null) this.#encoded.push(chunk);
    else if (chunk.length >= TAIL_BYTES) this.#tail = chunk.subarray(-TAIL_BYTES);
    else this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-TAIL_BYTES);
  }

  onResponseEnd(): void {
    try {
      this.#finish(this.#judge());
    } catch (error) {
      this.onResponseError(null, error as Error);
    }
  }

  onResponseError(_controller: unknown, error: Error & { readonly code?: string }): void {
    this.#finish(error.code ?? error.message);
  }

  #judge(): string | null {
    let [bytes, tail] = [this.#bytes, this.#tail];
    if (this.#encoded !== null) {
      const body = gunzipSync(Buffer.concat(this.#encoded), { maxOutputLength: DECODED_BYTES_MAX });
      [bytes, tail] = [body.length, body.subarray(-TAIL_BYTES)];
    }
    if (this.#status !== 200) return `status ${this.#status}`;
    if (bytes < this.expected.bytesMin) return 'the body is too short';
    const end = tail.toString('latin1').trimEnd();
    return end.endsWith(this.expected.endsWith) ? null : 'the body has an unexpected end';
  }

  #finish(failure: string | null): void {
    const [startedAt, firstByteAt, endedAt] = [this.#startedAt, this.#firstByteAt, performance.now()];
    this.done({ failure, startedAt, firstByteAt, endedAt });
  }
}
