import { Worker } from 'node:worker_threads';
import type { EndpointSpec } from '../formats/endpoints.js';
import { parseCall, type ParseResult, type RequestContentHeaders } from './parse-call.js';
import type { BodyParser, RequestBody } from '../ports.js';
import type { ParseResponse, ParseRequest } from './parse-thread.js';

/**
 * Largest body that is parsed on the event loop, in bytes. The slowest JSON (tiny objects) takes 40
 * ms per MiB; text takes 8 ms for 10 MB.
 */
export const INLINE_BYTES_MAX = 512 * 1024;
const THREAD_HEAP_MIB_MAX = 512;

interface PendingBody {
  readonly row: EndpointSpec;
  readonly body: Pick<RequestBody, 'bytes'>;
  readonly resolve: (result: ParseResult) => void;
  readonly fail: (error: Error) => void;
}

export interface BodyParserOptions {
  /** URL of the compiled module `parse-thread`. */
  readonly threadUrl: URL;
  readonly onThreadFailed: (error: Error) => void;
}

/**
 * Parses small bodies on the event loop and large ones in a worker thread, one after the other.
 * Large bodies therefore never delay running streams. The bytes are transferred to the thread and
 * back, not copied.
 */
export class ThreadedBodyParser implements BodyParser {
  readonly #options: BodyParserOptions;
  #thread: Worker | null = null;
  readonly #asked = new Map<number, PendingBody>();
  #number = 0;

  constructor(options: BodyParserOptions) {
    this.#options = options;
  }

  /** Number of bodies that the thread is parsing or has queued. */
  get waiting(): number {
    return this.#asked.size;
  }

  parse(
    row: EndpointSpec,
    headers: RequestContentHeaders,
    body: Pick<RequestBody, 'bytes'>,
  ): ParseResult | Promise<ParseResult> {
    if (body.bytes.length <= INLINE_BYTES_MAX) return parseCall(row, headers, body.bytes);
    return new Promise((resolve, fail) => {
      this.#thread ??= this.#start();
      this.#number += 1;
      const bytes = toTransferableBytes(body.bytes);
      const { contentType, contentEncoding } = headers;
      const question: ParseRequest = { number: this.#number, path: row.path, contentType, contentEncoding, bytes };
      this.#asked.set(this.#number, { row, body, resolve, fail });
      this.#thread.postMessage(question, [bytes.buffer]);
    });
  }

  async stop(): Promise<void> {
    const thread = this.#thread;
    this.#thread = null;
    thread?.removeAllListeners();
    this.#failAll(new Error('the body parser thread was stopped'));
    await thread?.terminate();
  }

  #start(): Worker {
    const thread = new Worker(this.#options.threadUrl, {
      resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MIB_MAX },
      env: {},
      stdin: false,
    });
    thread.unref();
    thread.on('message', (answer: ParseResponse) => this.#answered(answer));
    const failed = (error: Error): void => {
      if (this.#thread !== thread) return;
      this.#thread = null;
      this.#options.onThreadFailed(error);
      this.#failAll(error);
    };
    thread.on('error', failed);
    thread.on('exit', (code) => failed(new Error(`the body parser thread exited with code ${code}`)));
    return thread;
  }

  #answered({ number, bytes, result }: ParseResponse): void {
    const asked = this.#asked.get(number);
    if (asked === undefined) return;
    this.#asked.delete(number);
    asked.body.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    asked.resolve(result.ok ? { ok: true, call: { ...result.call, row: asked.row } } : result);
  }

  #failAll(error: Error): void {
    const all = [...this.#asked.values()];
    this.#asked.clear();
    for (const { fail } of all) fail(error);
  }
}

/** Returns the bytes in a buffer that holds nothing else: only such a buffer can be transferred. */
function toTransferableBytes(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, length } = bytes;
  const isOwn = buffer instanceof ArrayBuffer && byteOffset === 0 && buffer.byteLength === length;
  return isOwn ? new Uint8Array(buffer) : new Uint8Array(bytes);
}
