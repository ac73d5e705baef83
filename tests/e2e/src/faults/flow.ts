import type { Socket } from 'node:net';

/** State of a proxy, which is read for each chunk of bytes. */
export interface Passage {
  delayMs: number;
  isStalled: boolean;
}

/** Limit of the buffer for one direction of a connection. Above it, the sender is paused. */
const HELD_BYTES_MAX = 256 * 1024;

interface Piece {
  /** Null: the sender has ended its side. */
  readonly bytes: Buffer | null;
  /** Earliest time to send the bytes: monotonic clock, milliseconds. */
  readonly dueAt: number;
}

/** One direction of a connection. Relays bytes in order as the state of the proxy permits. */
export class Flow {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #passage: Passage;
  readonly #held: Piece[] = [];
  #heldBytes = 0;
  #isFull = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, passage: Passage) {
    this.#from = from;
    this.#to = to;
    this.#passage = passage;
    from.on('data', (bytes: Buffer) => this.#take(bytes));
    from.on('end', () => this.#take(null));
    from.on('close', () => clearTimeout(this.#timer));
    to.on('drain', () => {
      this.#isFull = false;
      this.go();
    });
  }

  /** Sends all bytes that are due. Called again after each change of the proxy's state. */
  go(): void {
    clearTimeout(this.#timer);
    for (let next = this.#held[0]; next !== undefined; next = this.#held[0]) {
      if (this.#passage.isStalled || this.#isFull || this.#to.destroyed) break;
      const waitMs = next.dueAt - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.go(), waitMs);
        break;
      }
      this.#held.shift();
      this.#heldBytes -= next.bytes?.length ?? 0;
      this.#pass(next.bytes);
    }
    if (this.#heldBytes > HELD_BYTES_MAX) this.#from.pause();
    else if (!this.#isFull) this.#from.resume();
  }

  #take(bytes: Buffer | null): void {
    const { delayMs, isStalled } = this.#passage;
    // Usually nothing is buffered.
    if (delayMs === 0 && !isStalled && !this.#isFull && this.#held.length === 0) {
      this.#pass(bytes);
      if (this.#isFull) this.#from.pause();
      return;
    }
    this.#held.push({ bytes, dueAt: performance.now() + delayMs });
    this.#heldBytes += bytes?.length ?? 0;
    this.go();
  }

  #pass(bytes: Buffer | null): void {
    if (this.#to.destroyed) return;
    if (bytes === null) this.#to.end();
    else this.#isFull = !this.#to.write(bytes);
  }
}
