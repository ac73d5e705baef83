/**
 * A holder of a value that old tables of the engine may still reference. After the value is cleared
 * nothing large is retained.
 */
interface Box<V> {
  value: V | undefined;
}

/**
 * A map for many short-lived entries. A plain `Map` with many passing entries repeatedly allocates
 * new tables. Its old tables reference each other and their entries. Once one of them is in the old
 * generation, all later ones survive until the next full garbage collection, with everything that
 * their entries reference. In a process that does little else this is half of all garbage
 * collection. In this class an old table references only empty boxes.
 */
export class EphemeralMap<K, V extends object> {
  readonly #boxes = new Map<K, Box<V>>();

  get size(): number {
    return this.#boxes.size;
  }

  get(key: K): V | undefined {
    return this.#boxes.get(key)?.value;
  }

  set(key: K, value: V): void {
    const box = this.#boxes.get(key);
    if (box === undefined) this.#boxes.set(key, { value });
    else box.value = value;
  }

  /** Returns false if the entry did not exist. */
  delete(key: K): boolean {
    const box = this.#boxes.get(key);
    if (box === undefined) return false;
    box.value = undefined;
    return this.#boxes.delete(key);
  }

  /** Iterates in insertion order. Entries may be added and deleted meanwhile. */
  *values(): Generator<V, void, undefined> {
    for (const { value } of this.#boxes.values()) if (value !== undefined) yield value;
  }
}
