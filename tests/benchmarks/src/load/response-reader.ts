import { gunzipSync } from 'node:zlib';

/** Longest head or line of a response, in bytes. */
const HEAD_BYTES_MAX = 65_536;
/** Bytes that are kept of the body's end, to check how it ended. */
const TAIL_BYTES = 32;
/** Longest gzip body, compressed and decompressed. Only such bodies are kept. */
const ENCODED_BYTES_MAX = 1_048_576;
const NOTHING = Buffer.alloc(0);

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
  #state: 'head' | 'body' | 'size' | 'trailer' | 'complete' = 'head';
  #isChunked = false;
  /** Bytes of an incomplete head or line. */
  #rest: Buffer = NOTHING;
  /** Missing bytes of the body or chunk. */
  #left = 0;
  #tail: Buffer = NOTHING;
  /** Parts of a gzip body, or null. */
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
    let data = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    this.#rest = NOTHING;
    while (data.length > 0) {
      if (this.#state === 'complete') throw new Error('bytes after the end of the response');
      const length = this.#state === 'body' ? this.#readBody(data) : this.#readText(data);
      if (length === 0) {
        if (data.length > HEAD_BYTES_MAX) throw new Error('a line or the head of the response is too long');
        this.#rest = data;
        return false;
      }
      data = data.subarray(length);
    }
    if (this.#state !== 'complete') return false;
    if (this.#encoded !== null) {
      const body = gunzipSync(Buffer.concat(this.#encoded), { maxOutputLength: ENCODED_BYTES_MAX });
      this.bodyBytes = body.length;
      this.#tail = body.subarray(-TAIL_BYTES);
    }
    return true;
  }

  /** Reads a head or a line, and returns its length. 0: more bytes are needed. */
  #readText(data: Buffer): number {
    const mark = this.#state === 'head' ? '\r\n\r\n' : '\r\n';
    const end = data.indexOf(mark);
    if (end < 0) return 0;
    const text = data.toString('latin1', 0, end).toLowerCase();
    if (this.#state === 'head') this.#readHead(text);
    else if (this.#state === 'trailer') this.#state = text === '' ? 'complete' : 'trailer';
    // The line after a chunk is empty.
    else if (text !== '') this.#readSize(text);
    return end + mark.length;
  }

  #readHead(head: string): void {
    if (!/^http\/1\.1 \d{3}/.test(head)) throw new Error('not an HTTP/1.1 response');
    this.status = Number(head.slice(9, 12));
    // An interim response: the final one follows.
    if (this.status < 200) return;
    this.closes = head.includes('\r\nconnection: close');
    if (head.includes('\r\ncontent-encoding: gzip')) this.#encoded = [];
    const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
    this.#isChunked = head.includes('\r\ntransfer-encoding: chunked');
    if (!this.#isChunked && length === undefined) throw new Error('the response has no length');
    this.#left = Number(length);
    this.#state = this.#isChunked ? 'size' : this.#left === 0 ? 'complete' : 'body';
  }

  #readSize(line: string): void {
    this.#left = Number.parseInt(line, 16);
    if (Number.isNaN(this.#left)) throw new Error('a chunk has no size');
    this.#state = this.#left === 0 ? 'trailer' : 'body';
  }

  #readBody(data: Buffer): number {
    const part = data.subarray(0, this.#left);
    this.#left -= part.length;
    this.bodyBytes += part.length;
    if (this.#left === 0) this.#state = this.#isChunked ? 'size' : 'complete';
    if (this.#encoded === null) {
      const isWhole = part.length >= TAIL_BYTES;
      this.#tail = (isWhole ? part : Buffer.concat([this.#tail, part])).subarray(-TAIL_BYTES);
    } else {
      if (this.bodyBytes > ENCODED_BYTES_MAX) throw new Error('the encoded body is too long');
      this.#encoded.push(part);
    }
    return part.length;
  }
}
