export interface PlacesByClientOptions {
  /** Most places that one client has at a time. */
  readonly max: number;
  /** Most clients that have a place at a time; the next one gets none. */
  readonly keysMax: number;
}

/** Places that clients take and give back, under a bound for each of them. */
export class PlacesByClient {
  readonly #options: PlacesByClientOptions;
  readonly #taken = new Map<string, number>();

  constructor(options: PlacesByClientOptions) {
    this.#options = options;
  }

  /** Clients that have a place. */
  get size(): number {
    return this.#taken.size;
  }

  /** False, with nothing taken, when this client has all of its places. */
  take(client: string): boolean {
    const taken = this.#taken.get(client) ?? 0;
    if (taken >= this.#options.max) return false;
    if (taken === 0 && this.#taken.size >= this.#options.keysMax) return false;
    this.#taken.set(client, taken + 1);
    return true;
  }

  /** Once for each place that was taken. */
  release(client: string): void {
    const taken = this.#taken.get(client) ?? 0;
    if (taken > 1) this.#taken.set(client, taken - 1);
    else this.#taken.delete(client);
  }
}
