import { Worker } from 'node:worker_threads';
import type { EndpointRow } from '../formats/endpoints.js';
import { parseCall, type ParseResult, type RequestContentHeaders } from './parse-call.js';
import type { BodyParser, RequestBody } from '../ports.js';
import type { ParseAnswer, ParseQuestion } from './parse-thread.js';

/**
 * Bytes of a body that is read by the event loop itself: at 40 ms for each MiB of the dearest JSON
 * (tiny objects), 8 ms for 10 MB of text.
 */
export const INLINE_BYTES_MAX = 512 * 1024;
const THREAD_HEAP_MIB_MAX = 512;

interface Asked {
  readonly row: EndpointRow;
  readonly body: Pick<RequestBody, 'bytes'>;
  readonly resolve: (result: ParseResult) => void;
  readonly fail: (error: Error) => void;
}

export interface BodyParserOptions {
  /** The compiled module `parse-thread`. */
  readonly threadUrl: URL;
  readonly onThreadFailed: (error: Error) => void;
}

/**
 * Reads small bodies at once and large ones in a thread of its own, one after the other: however
 * many come, and however they are made, no running stream waits for them. The bytes are handed over
 * and back, never copied.
 */
export class ThreadedBodyParser implements BodyParser {
  readonly #options: BodyParserOptions;
  #thread: Worker | null = null;
  readonly #asked = new Map<number, Asked>();
  #number = 0;

  constructor(options: BodyParserOptions) {
    this.#options = options;
  }

  /** Bodies that are being read in the thread, or wait for it. */
  get waiting(): number {
    return this.#asked.size;
  }

  parse(
    row: EndpointRow,
    headers: RequestContentHeaders,
    body: Pick<RequestBody, 'bytes'>,
  ): ParseResult | Promise<ParseResult> {
    if (body.bytes.length <= INLINE_BYTES_MAX) return parseCall(row, headers, body.bytes);
    return new Promise((resolve, fail) => {
      this.#thread ??= this.#start();
      this.#number += 1;
      const bytes = ownBytes(body.bytes);
      const { contentType, contentEncoding } = headers;
      const question: ParseQuestion = { number: this.#number, path: row.path, contentType, contentEncoding, bytes };
      this.#asked.set(this.#number, { row, body, resolve, fail });
      this.#thread.postMessage(question, [bytes.buffer]);
    });
  }

  async stop(): Promise<void> {
    const thread = this.#thread;
    this.#thread = null;
    thread?.removeAllListeners();
    this.#failAll(new Error('the thread that reads bodies was stopped'));
    await thread?.terminate();
  }

  #start(): Worker {
    const thread = new Worker(this.#options.threadUrl, {
      resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MIB_MAX },
      env: {},
      stdin: false,
    });
    thread.unref();
    thread.on('message', (answer: ParseAnswer) => this.#answered(answer));
    const failed = (error: Error): void => {
      if (this.#thread !== thread) return;
      this.#thread = null;
      this.#options.onThreadFailed(error);
      this.#failAll(error);
    };
    thread.on('error', failed);
    thread.on('exit', (code) => failed(new Error(`the thread that reads bodies ended with ${code}`)));
    return thread;
  }

  #answered({ number, bytes, result }: ParseAnswer): void {
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

/** The bytes in memory that nothing else lies in: only such can be handed over. */
function ownBytes(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, length } = bytes;
  const isOwn = buffer instanceof ArrayBuffer && byteOffset === 0 && buffer.byteLength === length;
  return isOwn ? new Uint8Array(buffer) : new Uint8Array(bytes);
}
