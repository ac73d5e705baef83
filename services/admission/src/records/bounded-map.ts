interface Entry<V> {
  value: V;
  /** Whether it was used since the eviction last skipped it. */
  isUsed: boolean;
}

/**
 * A map that evicts an entry without recent use when it holds more than `entriesMax`. A use only
 * sets a flag: moving the entry to the end at each use would rebuild the map's table again and
 * again (see EphemeralMap).
 */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, Entry<V>>();

  constructor(private readonly entriesMax: number) {}

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.isUsed = true;
    return entry.value;
  }

  set(key: K, value: V): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      entry.value = value;
      entry.isUsed = true;
      return;
    }
    this.#entries.set(key, { value, isUsed: false });
    if (this.#entries.size > this.entriesMax) this.#forgetOne();
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  /**
   * Evicts the oldest entry that was not used since it was last skipped. Used entries are moved to
   * the end, so the loop finds an unused one.
   */
  #forgetOne(): void {
    for (const [key, entry] of this.#entries) {
      this.#entries.delete(key);
      if (!entry.isUsed) return;
      entry.isUsed = false;
      this.#entries.set(key, entry);
    }
  }
}
