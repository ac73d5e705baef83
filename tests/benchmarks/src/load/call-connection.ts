import { type Socket, connect } from 'node:net';
import { messageOf } from '../context.js';
import type { ExpectedResponse } from './load.js';
import { ResponseReader } from './response-reader.js';

/** Result of one call at its client. Times are milliseconds of `performance.now()`. */
export interface CallOutcome {
  /** Null if the response was complete and as expected. */
  readonly failure: string | null;
  readonly startedAt: number;
  readonly firstByteAt: number;
  readonly endedAt: number;
}

/** A keep-alive connection with one call at a time. Reconnects after a failure or close. */
export class CallConnection {
  #expected: ExpectedResponse = { bytesMin: 0, endsWith: '' };
  readonly #reader = new ResponseReader();
  #socket: Socket | null = null;
  #done: ((outcome: CallOutcome) => void) | null = null;
  #startedAt = 0;
  #firstByteAt = 0;

  constructor(private readonly port: number) {}

  /** Sends the bytes of a request. `done` is called exactly once. */
  call(request: Buffer, expected: ExpectedResponse, done: (outcome: CallOutcome) => void): void {
    this.#done = done;
    this.#expected = expected;
    this.#reader.begin();
    this.#firstByteAt = 0;
    const socket = (this.#socket ??= this.#open());
    this.#startedAt = performance.now();
    socket.write(request);
  }

  /** Fails a call that has run longer than `limitMs`. */
  expire(now: number, limitMs: number): void {
    if (this.#done !== null && now - this.#startedAt > limitMs) this.#fail('no complete response in time');
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #open(): Socket {
    const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true });
    const fail = (reason: string): void => {
      if (this.#socket === socket) this.#fail(reason);
    };
    socket.on('data', (bytes: Buffer) => this.#onData(bytes));
    socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
    socket.on('close', () => fail('closed before the end of the response'));
    return socket;
  }

  #onData(bytes: Buffer): void {
    if (this.#firstByteAt === 0) this.#firstByteAt = performance.now();
    try {
      if (!this.#reader.push(bytes)) return;
    } catch (error) {
      this.#fail(messageOf(error));
      return;
    }
    if (this.#reader.closes) this.close();
    this.#finish(this.#judge());
  }

  #judge(): string | null {
    const { status, bodyBytes, tail } = this.#reader;
    if (status !== 200) return `status ${status}`;
    if (bodyBytes < this.#expected.bytesMin) return 'the body is too short';
    return tail.endsWith(this.#expected.endsWith) ? null : 'the body has an unexpected end';
  }

  #fail(reason: string): void {
    this.close();
    this.#finish(reason);
  }

  #finish(failure: string | null): void {
    const done = this.#done;
    this.#done = null;
    done?.({ failure, startedAt: this.#startedAt, firstByteAt: this.#firstByteAt, endedAt: performance.now() });
  }
}
