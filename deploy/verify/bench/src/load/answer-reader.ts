import { gunzipSync } from 'node:zlib';

/** Longest head of an answer, in bytes. */
const HEAD_BYTES_MAX = 65_536;
/** Bytes of the body's end that are kept, to see how it ended. */
const TAIL_BYTES = 32;
/** Longest body in gzip, as it comes and unpacked: only such bodies are kept. */
const ENCODED_BYTES_MAX = 1_048_576;
const HEAD_END = '\r\n\r\n';
const LINE_END = '\r\n';
const NOTHING = Buffer.alloc(0);

type State = 'head' | 'sized' | 'size-line' | 'chunk' | 'chunk-end' | 'trailer' | 'complete';

/**
 * Reads one HTTP/1.1 answer after the other from a connection, without keeping the body unless it
 * is encoded. Written for the load: a client library would cost more CPU than some of the programs
 * that are measured. @throws Error when the bytes are no such answer.
 */
export class AnswerReader {
  status = 0;
  /** Unpacked. */
  bodyBytes = 0;
  /** The server will close the connection after this answer. */
  closes = false;
  #state: State = 'head';
  #rest: Buffer = NOTHING;
  #left = 0;
  #tail: Buffer = NOTHING;
  /** Of a body in gzip. */
  #encoded: Buffer[] | null = null;

  /** Forgets the last answer. */
  begin(): void {
    this.status = 0;
    this.bodyBytes = 0;
    this.closes = false;
    this.#state = 'head';
    this.#rest = NOTHING;
    this.#tail = NOTHING;
    this.#encoded = null;
  }

  /** The end of the body, white space after it left out. */
  get tail(): string {
    return this.#tail.toString('latin1').trimEnd();
  }

  /** Takes the next bytes; true when the answer is complete. */
  push(bytes: Buffer): boolean {
    const data = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    this.#rest = NOTHING;
    let at = 0;
    while (at < data.length) {
      if (this.#state === 'complete') throw new Error('bytes after the end of the answer');
      const next = this.#step(data, at);
      if (next < 0) {
        this.#rest = data.subarray(at);
        if (this.#rest.length > HEAD_BYTES_MAX) throw new Error('a line or head of the answer is too long');
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

  /** Where the next step starts; -1 when more bytes are needed first. */
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
    if (!/^http\/1\.1 \d{3}/.test(head)) throw new Error('not an HTTP/1.1 answer');
    this.status = Number(head.slice(9, 12));
    // An interim answer: the real one follows.
    if (this.status < 200) return end + HEAD_END.length;
    this.closes = head.includes('\r\nconnection: close');
    if (head.includes('\r\ncontent-encoding: gzip')) this.#encoded = [];
    const length = /\r\ncontent-length: *(\d+)/.exec(head);
    if (head.includes('\r\ntransfer-encoding: chunked')) this.#state = 'size-line';
    else if (length !== null) {
      this.#left = Number(length[1]);
      this.#state = this.#left === 0 ? 'complete' : 'sized';
    } else throw new Error('an answer without a length');
    return end + HEAD_END.length;
  }

  #readSize(data: Buffer, at: number): number {
    const end = data.indexOf(LINE_END, at);
    if (end < 0) return -1;
    const size = Number.parseInt(data.toString('latin1', at, end), 16);
    if (Number.isNaN(size)) throw new Error('a chunk without a size');
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
      if (this.bodyBytes > ENCODED_BYTES_MAX) throw new Error('an encoded body that is too long');
      this.#encoded.push(piece);
      return;
    }
    this.#tail =
      piece.length >= TAIL_BYTES
        ? piece.subarray(piece.length - TAIL_BYTES)
        : Buffer.concat([this.#tail, piece]).subarray(-TAIL_BYTES);
  }
}
