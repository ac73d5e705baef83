import { gunzipSync } from 'node:zlib';

/** Longest head of a response, in bytes. */
const HEAD_BYTES_MAX = 65_536;
/** Bytes that are kept of the body's end, to check how it ended. */
const TAIL_BYTES = 32;
/** Longest gzip body, compressed and decompressed. Only such bodies are kept. */
const ENCODED_BYTES_MAX = 1_048_576;
const HEAD_END = '\r\n\r\n';
const LINE_END = '\r\n';
const NOTHING = Buffer.alloc(0);

type State = 'head' | 'sized' | 'size-line' | 'chunk' | 'chunk-end' | 'trailer' | 'complete';

/**
 * Reads HTTP/1.1 responses from a connection without keeping the body unless it is encoded. Written
 * for the load: a client library would cost more CPU than some of the measured programs. @throws
 * Error if the bytes are not a valid response
 */
export class ResponseReader {
  status = 0;
  /** Size after decompression. */
  bodyBytes = 0;
  /** True if the server will close the connection after this response. */
  closes = false;
  #state: State = 'head';
  #rest: Buffer = NOTHING;
  #left = 0;
  #tail: Buffer = NOTHING;
  /** Chunks of a gzip body, or null. */
  #encoded: Buffer[] | null = null;

  /** Starts the next response. */
  begin(): void {
    this.status = 0;
    this.bodyBytes = 0;
    this.closes = false;
    this.#state = 'head';
    this.#rest = NOTHING;
    this.#tail = NOTHING;
    this.#encoded = null;
  }

  /** Returns the end of the body without trailing white space. */
  get tail(): string {
    return this.#tail.toString('latin1').trimEnd();
  }

  /** Reads the next bytes. Returns true when the response is complete. */
  push(bytes: Buffer): boolean {
    const data = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    this.#rest = NOTHING;
    let at = 0;
    while (at < data.length) {
      if (this.#state === 'complete') throw new Error('bytes after the end of the response');
      const next = this.#step(data, at);
      if (next < 0) {
        this.#rest = data.subarray(at);
        if (this.#rest.length > HEAD_BYTES_MAX) throw new Error('a line or the head of the response is too long');
        break;
      }
      at = next;
    }
    if (this.#state !== 'complete') return false;
    if (this.#encoded !== null) this.#unpack(this.#encoded);
    return true;
  }

  #unpack(pieces: readonly Buffer[]): void {
    const body = gunzipSync(Buffer.concat(pieces), { maxOutputLength: ENCODED_BYTES_MAX });
    this.bodyBytes = body.length;
    this.#tail = body.subarray(-TAIL_BYTES);
  }

  /** Returns the start of the next step, or -1 if more bytes are needed. */
  #step(data: Buffer, at: number): number {
    switch (this.#state) {
      case 'head':
        return this.#readHead(data, at);
      case 'size-line':
        return this.#readSize(data, at);
      case 'trailer':
        return this.#readTrailer(data, at);
      default:
        return this.#readBytes(data, at);
    }
  }

  #readHead(data: Buffer, at: number): number {
    const end = data.indexOf(HEAD_END, at);
    if (end < 0) return -1;
    const head = data.toString('latin1', at, end).toLowerCase();
    if (!/^http\/1\.1 \d{3}/.test(head)) throw new Error('not an HTTP/1.1 response');
    this.status = Number(head.slice(9, 12));
    // An interim response: the final one follows.
    if (this.status < 200) return end + HEAD_END.length;
    this.closes = head.includes('\r\nconnection: close');
    if (head.includes('\r\ncontent-encoding: gzip')) this.#encoded = [];
    const length = /\r\ncontent-length: *(\d+)/.exec(head);
    if (head.includes('\r\ntransfer-encoding: chunked')) this.#state = 'size-line';
    else if (length !== null) {
      this.#left = Number(length[1]);
      this.#state = this.#left === 0 ? 'complete' : 'sized';
    } else throw new Error('the response has no length');
    return end + HEAD_END.length;
  }

  #readSize(data: Buffer, at: number): number {
    const end = data.indexOf(LINE_END, at);
    if (end < 0) return -1;
    const size = Number.parseInt(data.toString('latin1', at, end), 16);
    if (Number.isNaN(size)) throw new Error('a chunk has no size');
    this.#left = size;
    this.#state = size === 0 ? 'trailer' : 'chunk';
    return end + LINE_END.length;
  }

  #readTrailer(data: Buffer, at: number): number {
    const end = data.indexOf(LINE_END, at);
    if (end < 0) return -1;
    if (end === at) this.#state = 'complete';
    return end + LINE_END.length;
  }

  #readBytes(data: Buffer, at: number): number {
    const end = Math.min(data.length, at + this.#left);
    this.#left -= end - at;
    if (this.#state !== 'chunk-end') this.#noteBody(data.subarray(at, end));
    if (this.#left > 0) return end;
    if (this.#state === 'chunk') {
      this.#state = 'chunk-end';
      this.#left = LINE_END.length;
    } else this.#state = this.#state === 'sized' ? 'complete' : 'size-line';
    return end;
  }

  #noteBody(piece: Buffer): void {
    this.bodyBytes += piece.length;
    if (this.#encoded !== null) {
      if (this.bodyBytes > ENCODED_BYTES_MAX) throw new Error('the encoded body is too long');
      this.#encoded.push(piece);
      return;
    }
    this.#tail =
      piece.length >= TAIL_BYTES
        ? piece.subarray(piece.length - TAIL_BYTES)
        : Buffer.concat([this.#tail, piece]).subarray(-TAIL_BYTES);
  }
}
