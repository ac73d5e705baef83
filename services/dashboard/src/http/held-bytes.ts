/** Bytes that are held at a time, under a bound. */
export class HeldBytes {
  readonly bytesMax: number;
  #held = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get held(): number {
    return this.#held;
  }

  /** False, with nothing counted: they do not fit. */
  take(bytes: number): boolean {
    if (this.#held + bytes > this.bytesMax) return false;
    this.#held += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#held -= bytes;
  }
}
