const FIRST_BYTES = 4 * 1024;

/**
 * Collects the chunks of a body without keeping them: a chunk of one byte costs hundreds of bytes
 * as a separate Buffer. The body of a single chunk is the chunk itself. From the second chunk on,
 * all chunks are copied into one buffer of at most twice the received bytes (and at least 4 KiB).
 */
export class BodyBuffer {
  readonly #bytesMax: number;
  #buffer: Buffer | null = null;
  /** True while the buffer is the first chunk, which must not be modified. */
  #isFirstChunk = false;
  #length = 0;

  /**
   * @param bytesMax announced or maximum length of the body; limits the buffer until more bytes
   * arrive
   */
  constructor(bytesMax = Infinity) {
    this.#bytesMax = bytesMax;
  }

  /** Received bytes of the body. */
  get length(): number {
    return this.#length;
  }

  /** Bytes of memory that the body uses: at least `length`. */
  get held(): number {
    return this.#buffer?.length ?? 0;
  }

  /** Returns `held` as it will be after this chunk. */
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
   * Returns the body of exactly `length` bytes. Nothing may be appended afterwards. The body still
   * uses `held` bytes of memory.
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
