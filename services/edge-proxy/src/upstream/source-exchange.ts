import type { Readable } from 'node:stream';
import { PrivateAddressError } from '@gateway/service-kit';
import type { Client, Dispatcher } from 'undici';
import type { SourceAttempt, SourceFailure, SourceReader, SourceRequest } from '../ports.js';

/**
 * Largest body that is sent in one write. This is cheaper, but undici keeps the body until the
 * response ends. Larger bodies, and bodies of streamed calls, are sent in parts and freed with the
 * last part.
 */
const WHOLE_BODY_BYTES_MAX = 16 * 1024;

/**
 * One connection, which serves one request at a time. It connects at its first request, and again
 * after it was closed.
 */
export interface SourceConnection {
  readonly client: Client;
  /** Number of responses on the current connection. */
  answers: number;
  /** Whether the current connection was reset. If so, a body that ends with it is incomplete. */
  wasReset: boolean;
  isIdle: boolean;
  /** Called when the provider has closed its side and all earlier bytes have been read. */
  onEnd: () => void;
}

/** Receives a connection when its request is over. */
export interface ConnectionOwner {
  release(connection: SourceConnection): void;
  drop(connection: SourceConnection): void;
}

/** One request on one connection, and its response. */
export class Exchange implements SourceAttempt, Dispatcher.DispatchHandler {
  readonly #owner: ConnectionOwner;
  readonly #connection: SourceConnection;
  readonly #reader: SourceReader;
  #controller: Dispatcher.DispatchController | null = null;
  #isReused = false;
  /** Whether a final status has arrived. */
  #hasHead = false;
  /** Whether only the end of the connection ends the body. */
  #isOpenEnded = false;
  /** Whether the provider has closed its side. Then a pause has nothing to hold back. */
  #hasEnded = false;
  #isOver = false;

  constructor(owner: ConnectionOwner, connection: SourceConnection, request: SourceRequest, reader: SourceReader) {
    this.#owner = owner;
    this.#connection = connection;
    this.#reader = reader;
    connection.onEnd = () => this.#sourceEnded();
    const { path, body } = request;
    const bytes = body.reduce((sum, { length }) => sum + length, 0);
    const isWhole = bytes <= WHOLE_BODY_BYTES_MAX && !request.streamed;
    const headers = isWhole ? request.headers : [...request.headers, 'content-length', String(bytes)];
    connection.client.dispatch(
      {
        method: 'POST',
        path,
        headers: headers as string[],
        body: isWhole ? Buffer.concat(body, bytes) : this.#handOver([...body]),
        idempotent: false,
      },
      this,
    );
  }

  pause(): void {
    if (!this.#hasEnded) this.#controller?.pause();
  }

  resume(): void {
    if (!this.#isOver) this.#controller?.resume();
  }

  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#owner.drop(this.#connection);
  }

  /**
   * Resumes reading when the provider closes its side. undici processes the end of the connection
   * even during a pause; it would then report a complete response as broken, or end the process by
   * an assertion.
   */
  #sourceEnded(): void {
    // The request was not sent on this connection. undici sends it on a new one.
    if (this.#controller === null) return;
    this.#hasEnded = true;
    this.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#isReused = this.#connection.answers > 0;
    if (!this.#isOver) this.#reader.sent();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // undici would keep this second copy, some kilobytes per open stream, until the response ends.
    controller.rawHeaders = null;
    if (status < 200) return;
    this.#hasHead = true;
    this.#isOpenEnded = headers['content-length'] === undefined && headers['transfer-encoding'] === undefined;
    if (!this.#isOver) this.#reader.head(status, headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#isOver) this.#reader.data(chunk);
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    // undici reports a reset as the normal end of such a body.
    if (this.#isOpenEnded && this.#connection.wasReset)
      return this.#fail('broken', 'reset inside a body without a length');
    this.#isOver = true;
    this.#owner.release(this.#connection);
    this.#reader.end(this.#isOpenEnded);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return;
    const code = 'code' in error ? String(error.code) : error.name;
    this.#fail(this.#kindOf(error), error instanceof PrivateAddressError ? error.message : code);
  }

  #fail(kind: SourceFailure['kind'], reason: string): void {
    this.#isOver = true;
    this.#owner.drop(this.#connection);
    this.#reader.failed({ kind, reused: this.#isReused, reason });
  }

  /** Yields the parts when the connection has room. A finished generator keeps no part. */
  #handOver(pieces: Buffer[]): Readable {
    // undici accepts any iterable; only its types do not say so.
    return this.#piecesOf(pieces) as unknown as Readable;
  }

  *#piecesOf(pieces: Buffer[]): Generator<Buffer> {
    for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) if (piece.length > 0) yield piece;
    if (!this.#isOver) this.#reader.bodyTaken(this.#isReused);
  }

  #kindOf(error: Error): SourceFailure['kind'] {
    if (error instanceof PrivateAddressError) return 'private';
    if (this.#controller === null) return 'unreachable';
    return this.#hasHead ? 'broken' : 'unanswered';
  }
}
