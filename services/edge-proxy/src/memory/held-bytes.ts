const MIB = 1024 * 1024;

/** Bytes of one kind that all calls of this process hold together, under a bound. */
export class HeldBytes {
  /** Set at the start: see memory-bounds. */
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

  /** Counts so many more; false, with nothing counted, when they do not fit. */
  take(bytes: number): boolean {
    if (!this.fits(bytes)) return false;
    this.#held += bytes;
    return true;
  }

  /** What was taken is held no longer. */
  give(bytes: number): void {
    this.#held -= bytes;
  }
}

/**
 * Request bodies, from their first byte until no source can need them; a request above is answered
 * as overload.
 */
export const REQUEST_BODIES = new HeldBytes(512 * MIB);

/**
 * Those of them that nobody has admitted or opened yet and whose keys are not known; one above
 * waits unread for its key.
 */
export const UNOPENED_BODIES = new HeldBytes(64 * MIB);

/**
 * Plain answers that are not sent before they are complete; one that does not fit is relayed while
 * it comes.
 */
export const HELD_ANSWERS = new HeldBytes(256 * MIB);

/** Beginnings of streams that show no answer yet; one that does not fit goes to its client. */
export const HELD_BEGINNINGS = new HeldBytes(64 * MIB);
