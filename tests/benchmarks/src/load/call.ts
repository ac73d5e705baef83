import { gunzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { LoadJob } from './load.js';

/** Bytes that are kept of the body's end, to check how it ended. */
const TAIL_BYTES = 32;
/** Longest gzip body, decompressed. */
const DECODED_BYTES_MAX = 1_048_576;

/** Result of one call at its client. Times are milliseconds of `performance.now()`. */
export interface CallOutcome {
  /** Null if the response was complete and as expected. */
  readonly failure: string | null;
  readonly firstByteAt: number;
  readonly endedAt: number;
}

/** Reads one response without keeping its body, unless it is encoded. */
export class Call implements Dispatcher.DispatchHandler {
  #firstByteAt = 0;
  #status = 0;
  #bytes = 0;
  #tail: Buffer = Buffer.alloc(0);
  #isEncoded = false;

  constructor(
    private readonly expected: LoadJob['expected'],
    private readonly done: (outcome: CallOutcome) => void,
  ) {}

  /** undici recognises this form of handlers by this method. */
  onRequestStart(): void {
    this.#bytes = 0;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#firstByteAt = performance.now();
    this.#status = status;
    this.#isEncoded = headers['content-encoding'] === 'gzip';
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    const isWhole = !this.#isEncoded && chunk.length >= TAIL_BYTES;
    this.#tail = isWhole ? chunk : Buffer.concat([this.#tail, chunk]);
    if (!this.#isEncoded) this.#tail = this.#tail.subarray(-TAIL_BYTES);
  }

  onResponseEnd(): void {
    let failure: string | null;
    try {
      failure = this.#judge();
    } catch (error) {
      failure = (error as { readonly code: string }).code;
    }
    this.done({ failure, firstByteAt: this.#firstByteAt, endedAt: performance.now() });
  }

  onResponseError(_controller: unknown, error: Error & { readonly code?: string }): void {
    const failure = error.code ?? error.message;
    this.done({ failure, firstByteAt: this.#firstByteAt, endedAt: performance.now() });
  }

  #judge(): string | null {
    const body = this.#isEncoded ? gunzipSync(this.#tail, { maxOutputLength: DECODED_BYTES_MAX }) : this.#tail;
    if (this.#status !== 200) return `status ${this.#status}`;
    if ((this.#isEncoded ? body.length : this.#bytes) < this.expected.bytesMin) return 'the body is too short';
    const end = body.subarray(-TAIL_BYTES).toString('latin1').trimEnd();
    return end.endsWith(this.expected.endsWith) ? null : 'the body has an unexpected end';
  }
}
