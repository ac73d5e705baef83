const FIRST_BYTES = 4 * 1024;

/**
 * Collects a body that arrives in pieces, without keeping the pieces: a chunk of one byte costs
 * hundreds as a Buffer of its own. A body of one chunk is that chunk. From the second on all are
 * copied into one buffer, of at most twice what has come (and 4 KiB at least).
 */
export class BodyBuffer {
  readonly #bytesMax: number;
  #buffer: Buffer | null = null;
  /** The buffer is the first chunk, and not ours to write to. */
  #isFirstChunk = false;
  #length = 0;

  /**
   * @param bytesMax what the body announces or may have at most: the buffer is not made larger,
   * unless more comes
   */
  constructor(bytesMax = Infinity) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes of the body that have come. */
  get length(): number {
    return this.#length;
  }

  /** Bytes of memory that the body takes: `length` or more. */
  get held(): number {
    return this.#buffer?.length ?? 0;
  }

  /** `held` as it will be after this chunk. */
  heldAfter(chunk: Buffer): number {
    const needed = this.#length + chunk.length;
    if (this.#buffer === null) return needed;
    if (!this.#isFirstChunk && needed <= this.#buffer.length) return this.#buffer.length;
    return Math.max(needed, Math.min(this.#bytesMax, Math.max(FIRST_BYTES, 2 * needed)));
  }

  append(chunk: Buffer): void {
    if (chunk.length === 0) return;
    if (this.#buffer === null) {
      this.#buffer = chunk;
      this.#isFirstChunk = true;
    } else {
      const buffer = this.#roomFor(this.#buffer, chunk);
      chunk.copy(buffer, this.#length);
      this.#buffer = buffer;
    }
    this.#length += chunk.length;
  }

  /**
   * The body, of exactly `length` bytes; nothing may be appended afterwards. It keeps `held` bytes
   * of memory.
   */
  take(): Buffer {
    const buffer = this.#buffer ?? Buffer.alloc(0);
    return buffer.length === this.#length ? buffer : buffer.subarray(0, this.#length);
  }

  #roomFor(buffer: Buffer, chunk: Buffer): Buffer {
    if (!this.#isFirstChunk && this.#length + chunk.length <= buffer.length) return buffer;
    const larger = Buffer.allocUnsafeSlow(this.heldAfter(chunk));
    buffer.copy(larger, 0, 0, this.#length);
    this.#isFirstChunk = false;
    return larger;
  }
}
