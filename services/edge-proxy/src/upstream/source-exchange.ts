import type { Readable } from 'node:stream';
import { PrivateAddressError } from '@gateway/service-kit';
import type { Client, Dispatcher } from 'undici';
import type { SourceExchange, SourceFailure, SourceReader, SourceRequest } from '../ports.js';

/**
 * Larger bodies, and those of streamed calls, are sent piece by piece and freed with the last
 * piece. A smaller body is sent in one write, which is cheaper, but undici keeps it until the
 * answer ends.
 */
const WHOLE_BODY_BYTES_MAX = 16 * 1024;

/**
 * One connection that serves one request at a time; it connects at its first request and again when
 * it was closed.
 */
export interface SourceConnection {
  readonly client: Client;
  /** Number of answers on the present connection. */
  answers: number;
  /** The present connection was reset, so a body that ends with it is not complete. */
  wasReset: boolean;
  isIdle: boolean;
  /** Called when the provider has closed its side and all that came before is read. */
  onEnd: () => void;
}

/** Takes a connection back when its request is over. */
export interface ConnectionOwner {
  giveBack(connection: SourceConnection): void;
  drop(connection: SourceConnection): void;
}

/** One request on one connection, and its answer. */
export class Exchange implements SourceExchange, Dispatcher.DispatchHandler {
  readonly #owner: ConnectionOwner;
  readonly #connection: SourceConnection;
  readonly #reader: SourceReader;
  #controller: Dispatcher.DispatchController | null = null;
  #isReused = false;
  /** A final status has arrived. */
  #hasHead = false;
  /** Only the end of the connection ends the body. */
  #isOpenEnded = false;
  /** The provider has closed its side: nothing more comes that a pause could hold up. */
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
   * undici reads the end of the connection also while it is paused: an answer that was complete is
   * taken for a broken one then, or an assertion ends the process.
   */
  #sourceEnded(): void {
    // The request has not been sent there: it will go on another connection.
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
    // undici would keep this second copy until the answer ends: kilobytes for each open stream.
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
    // The client takes a reset for the end of such a body.
    if (this.#isOpenEnded && this.#connection.wasReset)
      return this.#fail('broken', 'reset inside a body without a length');
    this.#isOver = true;
    this.#owner.giveBack(this.#connection);
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

  /**
   * A finished generator keeps no piece. undici takes the next one when the connection has room.
   */
  #handOver(pieces: Buffer[]): Readable {
    // undici takes every iterable, which its types leave out.
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
