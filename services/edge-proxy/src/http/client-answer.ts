import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { EndpointStyle } from '../formats/endpoints.js';
import type { ClientAnswer } from '../ports.js';
import { CHUNK_END, chunkOf, chunkSize, FRAMED_BYTES_MAX, LAST_CHUNK } from './chunk-framing.js';
import { closeAfterDraining } from './read-body.js';

/** What all answers of one server share. */
export interface Answering {
  /** The edge stops: connections are not kept. */
  isDraining: boolean;
  /** Longest time in which a client takes no byte of an ended answer, milliseconds. */
  readonly stalledMs: number;
}

export interface HttpAnswerOptions {
  /** Name, value, name, value: on every answer. */
  readonly ids: readonly string[];
  /** Of the request's path. */
  readonly style: EndpointStyle;
  readonly answering: Answering;
  /** The request announces a body. */
  readonly hasBody: boolean;
  /** The client sends its body only after a 100 Continue. */
  readonly awaitsContinue: boolean;
}

/** A {@link ClientAnswer} over one exchange of node:http. */
export class HttpAnswer implements ClientAnswer {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #ids: readonly string[];
  /** The shape of its errors. */
  readonly style: EndpointStyle;
  readonly #answering: Answering;
  readonly #hasBody: boolean;
  #awaitsContinue: boolean;
  #closesConnection = false;
  /** The body goes out in chunks, which are framed here and not by node. */
  #isChunked = false;
  /**
   * Takes the chunks past node:http, once the head is out and no other answer is before this one.
   */
  #chunkSocket: Socket | null = null;
  #onGone: (() => void) | null = null;
  #onClosed: (() => void) | null = null;
  #onStalled: (() => void) | null = null;
  #endDraining: (() => void) | null = null;
  isGone = false;
  hasBegun = false;

  constructor(request: IncomingMessage, response: ServerResponse, options: HttpAnswerOptions) {
    this.#request = request;
    this.#response = response;
    this.#ids = options.ids;
    this.style = options.style;
    this.#answering = options.answering;
    this.#hasBody = options.hasBody;
    this.#awaitsContinue = options.awaitsContinue;
    response.once('close', () => this.connectionClosed());
  }

  /** Name, value, name, value. */
  get ids(): readonly string[] {
    return this.#ids;
  }

  /** The whole request has come. */
  get isRequestComplete(): boolean {
    return this.#request.complete;
  }

  /** Called once, when the answer is complete or its connection is closed. */
  onClosed(listener: () => void): void {
    this.#onClosed = listener;
  }

  /** Nothing more can be written: all was, or the client is gone. */
  connectionClosed(): void {
    const [closed, gone] = [this.#onClosed, this.#onGone];
    this.#onClosed = null;
    closed?.();
    if (this.#response.writableFinished) {
      if (this.#closesConnection) this.#request.socket.destroySoon();
      return;
    }
    this.#onGone = null;
    this.isGone = true;
    gone?.();
  }

  /** The connection ends with this answer. */
  closeConnection(): void {
    this.#closesConnection = true;
  }

  /** Other id headers than it was made with; without effect once the head was written. */
  rename(ids: readonly string[]): void {
    this.#ids = ids;
  }

  /**
   * Asks for the body, if the client waits to be asked. Not behind another answer: node would write
   * it between the head and the body of this one.
   */
  sendContinue(): void {
    if (this.#awaitsContinue && this.#response.socket !== null && !this.isGone) this.#response.writeContinue();
    this.#awaitsContinue = false;
  }

  onGone(listener: () => void): void {
    this.#onGone = listener;
  }

  onDrain(listener: () => void): void {
    this.#response.on('drain', listener);
  }

  begin(status: number, headers: readonly string[]): void {
    this.hasBegun = true;
    if (this.isGone) return;
    const all = this.#ids.concat(headers);
    const isLast = this.#answering.isDraining || this.#closesConnection || this.#isRequestOpen();
    if (isLast) all.push('connection', 'close');
    this.#response.writeHead(status, all);
    // node would write each chunk as four pieces: here it is one.
    this.#isChunked = this.#response.chunkedEncoding;
    this.#response.chunkedEncoding = false;
    if (!headers.includes('content-length')) this.#sendHead();
  }

  write(bytes: Buffer): boolean {
    if (this.isGone) return true;
    if (!this.#isChunked || bytes.length === 0) return this.#response.write(bytes);
    if (bytes.length <= FRAMED_BYTES_MAX) return this.#writeChunk(chunkOf(bytes));
    this.#response.write(chunkSize(bytes));
    this.#response.write(bytes);
    return this.#response.write(CHUNK_END);
  }

  end(bytes: Buffer | null): void {
    if (this.isGone) return;
    const ending = this.#isChunked ? this.#lastChunks(bytes) : bytes;
    if (this.#isRequestOpen() && !this.#awaitsContinue) {
      this.#endDraining = closeAfterDraining(this.#request, this.#response, ending);
    } else if (ending === null) this.#response.end();
    else this.#response.end(ending);
    this.#boundUnread();
  }

  /**
   * A whole JSON answer to a request whose rest cannot be read, behind those before it on its
   * connection; then closes that.
   */
  endUnread(status: number, body: Buffer): void {
    if (this.isGone) return;
    this.closeConnection();
    this.begin(status, ['content-type', 'application/json', 'content-length', String(body.length)]);
    this.#response.end(body);
    this.#boundUnread();
    // To whoever serves the request its client has gone: nothing more is written, and none of its
    // body comes. node tells so only of requests that are not answered yet.
    this.isGone = true;
    this.#request.socket.once('close', () => this.#request.destroy());
  }

  /**
   * The rest of the request cannot be read: an answer that only waited for it ends, any other is
   * destroyed.
   */
  endAtOnce(): void {
    if (this.#endDraining === null) this.destroy();
    else this.#endDraining();
  }

  cut(ending: Buffer | null): void {
    if (this.isGone) return;
    const destroy = (): void => void this.#response.socket?.destroy();
    if (ending !== null) this.write(ending);
    this.#response.write('', destroy);
    this.#boundUnread();
  }

  destroy(): void {
    this.#request.socket.destroy();
  }

  isSent(onClosed: () => void): boolean {
    if (this.isGone || this.#response.writableFinished) return true;
    this.#response.once('close', onClosed);
    return false;
  }

  watchReading(ms: number, stalled: () => void): void {
    if (this.isGone || this.#response.writableFinished) return;
    // A handler of this event also keeps node from closing the connection itself.
    if (this.#onStalled === null) this.#response.on('timeout', () => this.#onStalled?.());
    this.#onStalled = stalled;
    this.#response.setTimeout(ms);
  }

  unwatchReading(): void {
    if (this.#onStalled === null || this.#response.writableFinished) return;
    this.#onStalled = NOTHING;
    this.#response.setTimeout(0);
  }

  /**
   * The head of an answer that may last for minutes goes out as a text of its own, in one write
   * with what is written in this turn: put together with the first bytes, node would keep it as the
   * thirty texts that it was made of (1 KB for each stream).
   */
  #sendHead(): void {
    const { socket } = this.#response;
    // Behind another answer on its connection it is not sent yet.
    if (socket === null) return;
    corkForThisTurn(socket);
    this.#response.flushHeaders();
    if (this.#isChunked) this.#chunkSocket = socket;
  }

  /** What is written in one turn goes out in one write. */
  #writeChunk(chunk: Buffer): boolean {
    const socket = this.#chunkSocket;
    if (socket === null || !socket.writable) return this.#response.write(chunk);
    if (socket.writableCorked === 0) corkForThisTurn(socket);
    // node tells that there is room again only after a write of its own.
    return socket.write(chunk) || this.#response.write('');
  }

  /** What is left to be written of a chunked body that ends with these bytes. */
  #lastChunks(bytes: Buffer | null): Buffer {
    if (bytes === null || bytes.length === 0) return LAST_CHUNK;
    if (bytes.length <= FRAMED_BYTES_MAX) return chunkOf(bytes, LAST_CHUNK);
    this.write(bytes);
    return LAST_CHUNK;
  }

  /** What the kernel has not taken of an ended answer waits for a client that reads. */
  #boundUnread(): void {
    if (this.#response.writableLength > 0) this.watchReading(this.#answering.stalledMs, () => this.destroy());
  }

  /** Some of the request's body has not come: the answer is early. */
  #isRequestOpen(): boolean {
    return this.#hasBody && !this.#request.complete;
  }
}

function corkForThisTurn(socket: Socket): void {
  socket.cork();
  process.nextTick(uncork, socket);
}

function uncork(socket: Socket): void {
  socket.uncork();
}

const NOTHING = (): void => undefined;
