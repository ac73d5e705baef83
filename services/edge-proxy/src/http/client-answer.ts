import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { EndpointStyle } from '../formats/endpoints.js';
import type { ClientResponse } from '../ports.js';
import { closeAfterDraining } from './read-body.js';

/** State that all responses of one server share. */
export interface ResponseState {
  /** Whether the edge is stopping. If so, connections are not kept alive. */
  isDraining: boolean;
  /** Longest time without reading by the client of an ended response, in milliseconds. */
  readonly stalledMs: number;
}

export interface HttpAnswerOptions {
  /** The ID headers of every response: name, value, name, value. */
  readonly ids: readonly string[];
  /** The envelope style of the request's path. */
  readonly style: EndpointStyle;
  readonly answering: ResponseState;
  /** Whether the request announces a body. */
  readonly hasBody: boolean;
  /** Whether the client sends its body only after a 100 Continue. */
  readonly awaitsContinue: boolean;
}

/** A {@link ClientResponse} over one exchange of node:http. */
export class HttpResponse implements ClientResponse {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #ids: readonly string[];
  /** The envelope style of its errors. */
  readonly style: EndpointStyle;
  readonly #answering: ResponseState;
  readonly #hasBody: boolean;
  #awaitsContinue: boolean;
  #closesConnection = false;
  /** Whether the body is sent in chunks. This class frames them instead of Node. */
  #isChunked = false;
  /** Receives chunks directly. Null before the head is sent or an earlier response is complete. */
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

  /** Whether the whole request has arrived. */
  get isRequestComplete(): boolean {
    return this.#request.complete;
  }

  /** Sets the function to call once, when the response is complete or its connection is closed. */
  onClosed(listener: () => void): void {
    this.#onClosed = listener;
  }

  /** Reports that the response is complete or that the client is gone. */
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

  /** Closes the connection after this response. */
  closeConnection(): void {
    this.#closesConnection = true;
  }

  /** Replaces the ID headers. Has no effect once the head is written. */
  rename(ids: readonly string[]): void {
    this.#ids = ids;
  }

  /**
   * Sends 100 Continue if the client waits for it. Not while an earlier response is pending: Node
   * would write it between that response's head and body.
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
    // Node would write each chunk in four parts. Here a chunk is one write.
    this.#isChunked = this.#response.chunkedEncoding;
    this.#response.chunkedEncoding = false;
    if (!headers.includes('content-length')) this.#sendHead();
  }

  write(bytes: Buffer): boolean {
    if (this.isGone) return true;
    if (!this.#isChunked || bytes.length === 0) return this.#response.write(bytes);
    if (bytes.length <= FRAMED_BYTES_MAX) return this.#writeChunk(frameChunk(bytes));
    this.#response.write(formatChunkSize(bytes));
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
   * Writes a complete JSON response to a request whose remaining bytes cannot be read. The response
   * is sent after earlier responses on the connection, which then closes.
   */
  endUnread(status: number, body: Buffer): void {
    if (this.isGone) return;
    this.closeConnection();
    this.begin(status, ['content-type', 'application/json', 'content-length', String(body.length)]);
    this.#response.end(body);
    this.#boundUnread();
    // For the route of this request the client is now gone: nothing more is written, and no more of
    // the body arrives. Node reports this only for requests without a response.
    this.isGone = true;
    this.#request.socket.once('close', () => this.#request.destroy());
  }

  /**
   * Ends a response that only waits for the remaining bytes of the request; destroys any other
   * response. The remaining bytes cannot be read.
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
    // A handler for this event also prevents Node from closing the connection itself.
    if (this.#onStalled === null) this.#response.on('timeout', () => this.#onStalled?.());
    this.#onStalled = stalled;
    this.#response.setTimeout(ms);
  }

  unwatchReading(): void {
    if (this.#onStalled === null || this.#response.writableFinished) return;
    this.#onStalled = IGNORE;
    this.#response.setTimeout(0);
  }

  /**
   * Sends the head of a long response as a separate text, in one write with the bytes of this
   * event-loop tick. Combined with the first bytes, Node would keep it as the thirty texts that it
   * was built from (1 KB per stream).
   */
  #sendHead(): void {
    const { socket } = this.#response;
    // While an earlier response is pending on the connection, the head is not sent yet.
    if (socket === null) return;
    corkForThisTurn(socket);
    this.#response.flushHeaders();
    if (this.#isChunked) this.#chunkSocket = socket;
  }

  /** Writes a chunk. All writes of one event-loop tick are sent together. */
  #writeChunk(chunk: Buffer): boolean {
    const socket = this.#chunkSocket;
    if (socket === null || !socket.writable) return this.#response.write(chunk);
    if (socket.writableCorked === 0) corkForThisTurn(socket);
    // Node emits `drain` only after a write through the response.
    return socket.write(chunk) || this.#response.write('');
  }

  /** Returns the bytes that end a chunked body after `bytes`. */
  #lastChunks(bytes: Buffer | null): Buffer {
    if (bytes === null || bytes.length === 0) return LAST_CHUNK;
    if (bytes.length <= FRAMED_BYTES_MAX) return frameChunk(bytes, LAST_CHUNK);
    this.write(bytes);
    return LAST_CHUNK;
  }

  /** Limits how long an ended response waits for a client that does not read. */
  #boundUnread(): void {
    if (this.#response.writableLength > 0) this.watchReading(this.#answering.stalledMs, () => this.destroy());
  }

  /** Returns whether part of the request's body has not arrived. */
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

const IGNORE = (): void => undefined;

/**
 * Largest chunk that is copied to add its size and its end. For a larger one, separate writes are
 * cheaper.
 */
export const FRAMED_BYTES_MAX = 16 * 1024;

/** Follows the bytes of a chunk. */
export const CHUNK_END = Buffer.from('\r\n');
/** Ends a complete body that has no trailers. */
export const LAST_CHUNK = Buffer.from('0\r\n\r\n');

const NOTHING = Buffer.alloc(0);
const CR = 0x0d;
const LF = 0x0a;
const DIGITS = Buffer.from('0123456789abcdef');
const BITS_OF_DIGIT = 4;

/** Returns the size line of a chunk of at least one byte: an empty chunk would end the body. */
export function formatChunkSize(bytes: Buffer): Buffer {
  return Buffer.from(`${bytes.length.toString(16)}\r\n`);
}

/**
 * Returns one chunk of a chunked body (RFC 9112, 7.1) in one buffer: size, bytes and end.
 * @param bytes at least one, since an empty chunk ends the body
 * @param rest appended after the chunk: {@link LAST_CHUNK}
 */
export function frameChunk(bytes: Buffer, rest = NOTHING): Buffer {
  const { length } = bytes;
  let digits = 1;
  while (length >> (digits * BITS_OF_DIGIT) > 0) digits += 1;
  const start = digits + CHUNK_END.length;
  const end = start + length;
  const chunk = Buffer.allocUnsafe(end + CHUNK_END.length + rest.length);
  for (let at = 0, left = length; at < digits; at += 1, left >>= BITS_OF_DIGIT) {
    chunk[digits - 1 - at] = DIGITS[left & (DIGITS.length - 1)] as number;
  }
  chunk[digits] = CR;
  chunk[digits + 1] = LF;
  chunk.set(bytes, start);
  chunk[end] = CR;
  chunk[end + 1] = LF;
  if (rest.length > 0) chunk.set(rest, end + CHUNK_END.length);
  return chunk;
}
