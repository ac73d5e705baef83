import { PlacesByClient } from '@gateway/service-kit';

export interface PlaceBounds {
  /** Most places taken in total. */
  readonly all: number;
  /** Most places taken by one client. */
  readonly perClient: number;
  /** Most requests of one client that wait for another of its requests to end. */
  readonly waitingPerClient: number;
  /** Longest wait, in milliseconds. */
  readonly waitMs: number;
}

interface Waiter {
  readonly resolve: (taken: boolean) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Limits concurrent work, in total and per client. A client at its limit waits briefly for one of
 * its own places, because a page sends many requests at once. A request never waits for a place of
 * another client.
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

  /** Takes a place. Returns false if the total or the client's limit is reached. */
  tryTake(client: string): boolean {
    if (this.#taken >= this.#bounds.all || !this.#byClient.take(client)) return false;
    this.#taken += 1;
    return true;
  }

  /** Like `tryTake`, but waits if only the client's limit is reached. */
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

  /** Releases one taken place. It passes to the client's next waiting request. */
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

/** Counts bytes held, under a bound. */
export class HeldBytes {
  readonly bytesMax: number;
  #held = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get held(): number {
    return this.#held;
  }

  /** Adds `bytes` to the count. Returns false and counts nothing if they exceed the bound. */
  take(bytes: number): boolean {
    if (this.#held + bytes > this.bytesMax) return false;
    this.#held += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#held -= bytes;
  }
}
