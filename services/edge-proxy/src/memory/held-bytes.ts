const MIB = 1024 * 1024;

/** The bytes of one kind that all calls of this process hold together, with a limit. */
export class HeldBytes {
  /** Set at startup; see memory-bounds. */
  bytesMax: number;
  #held = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get held(): number {
    return this.#held;
  }

  fits(bytes: number): boolean {
    return this.#held + bytes <= this.bytesMax;
  }

  /** Counts more bytes. Returns false and counts nothing if they do not fit. */
  take(bytes: number): boolean {
    if (!this.fits(bytes)) return false;
    this.#held += bytes;
    return true;
  }

  /** Releases counted bytes. */
  give(bytes: number): void {
    this.#held -= bytes;
  }
}

/**
 * Request bodies, from their first byte until no source can need them. A request above the limit is
 * answered as overload.
 */
export const REQUEST_BODIES = new HeldBytes(512 * MIB);

/**
 * Bodies of requests whose key admission has not confirmed yet. Above the limit, a body is read
 * only after its key is confirmed.
 */
export const UNAUTHENTICATED_BODIES = new HeldBytes(64 * MIB);

/** Plain responses held until they are complete. If one does not fit, it is relayed at once. */
export const HELD_RESPONSES = new HeldBytes(256 * MIB);

/** Beginnings of streams without content. One that does not fit is sent to its client. */
export const HELD_BEGINNINGS = new HeldBytes(64 * MIB);
