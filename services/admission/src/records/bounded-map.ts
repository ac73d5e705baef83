interface Entry<V> {
  value: V;
  /** Since it was last passed over. */
  isUsed: boolean;
}

/**
 * A map that forgets an entry that was not used lately when it holds more than `entriesMax`. Use
 * only marks an entry: to move it to the end at each use would make the map a new table again and
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
   * The oldest that was not used since it was passed over last; those that were go to the end, so
   * that it comes to one.
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
