export interface PlacesByClientOptions {
  /** Maximum number of places per client. */
  readonly max: number;
  /** Maximum number of clients with a place. Further clients get none. */
  readonly keysMax: number;
}

/** Places that clients take and release, with a bound per client. */
export class ClientPermits {
  readonly #options: PlacesByClientOptions;
  readonly #taken = new Map<string, number>();

  constructor(options: PlacesByClientOptions) {
    this.#options = options;
  }

  /** Number of clients that have a place. */
  get size(): number {
    return this.#taken.size;
  }

  /** Takes a place. Returns false if the client or the number of clients is at its limit. */
  take(client: string): boolean {
    const taken = this.#taken.get(client) ?? 0;
    if (taken >= this.#options.max) return false;
    if (taken === 0 && this.#taken.size >= this.#options.keysMax) return false;
    this.#taken.set(client, taken + 1);
    return true;
  }

  /** Call it once for each taken place. */
  release(client: string): void {
    const taken = this.#taken.get(client) ?? 0;
    if (taken > 1) this.#taken.set(client, taken - 1);
    else this.#taken.delete(client);
  }
}
