import { PlacesByClient } from '@gateway/service-kit';

export interface PlaceBounds {
  /** Most places that are taken at a time. */
  readonly all: number;
  /** Most of one client. */
  readonly perClient: number;
  /** Most requests of one client that wait for a place of its own to come free. */
  readonly waitingPerClient: number;
  /** Longest wait, in milliseconds. */
  readonly waitMs: number;
}

interface Waiter {
  readonly resolve: (taken: boolean) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Places for work that is done at a time, under a bound for each client. Whoever has all of its
 * places waits for one of its own for a moment: a page asks for many things at once. Nobody waits
 * for the places of others.
 */
export class Places {
  readonly #bounds: PlaceBounds;
  readonly #byClient: PlacesByClient;
  readonly #waiting = new Map<string, Waiter[]>();
  #taken = 0;

  constructor(bounds: PlaceBounds) {
    this.#bounds = bounds;
    this.#byClient = new PlacesByClient({ max: bounds.perClient, keysMax: bounds.all });
  }

  get taken(): number {
    return this.#taken;
  }

  /** False, with nothing taken: all places are taken, or all of this client. */
  tryTake(client: string): boolean {
    if (this.#taken >= this.#bounds.all || !this.#byClient.take(client)) return false;
    this.#taken += 1;
    return true;
  }

  /** As `tryTake`, after a wait where only this client's places are taken. */
  take(client: string): boolean | Promise<boolean> {
    if (this.tryTake(client)) return true;
    const queue = this.#waiting.get(client) ?? [];
    const { all, waitingPerClient, waitMs } = this.#bounds;
    if (this.#taken >= all || queue.length >= waitingPerClient) return false;
    return new Promise((resolve) => {
      const waiter = { resolve, timer: setTimeout(() => this.#giveUp(client, waiter), waitMs) };
      queue.push(waiter);
      this.#waiting.set(client, queue);
    });
  }

  /** Once for each place that was taken; the client's next in the queue has it then. */
  release(client: string): void {
    const queue = this.#waiting.get(client);
    const next = queue?.shift();
    if (queue?.length === 0) this.#waiting.delete(client);
    if (next !== undefined) {
      clearTimeout(next.timer);
      next.resolve(true);
      return;
    }
    this.#byClient.release(client);
    this.#taken -= 1;
  }

  #giveUp(client: string, waiter: Waiter): void {
    const left = (this.#waiting.get(client) ?? []).filter((one) => one !== waiter);
    if (left.length === 0) this.#waiting.delete(client);
    else this.#waiting.set(client, left);
    waiter.resolve(false);
  }
}

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
