/**
 * What a table of the engine that is no longer in use still points to; without the value there is
 * nothing left to keep.
 */
interface Box<V> {
  value: V | undefined;
}

/**
 * A map whose entries come and go, each of them soon. A plain `Map` that many entries pass through
 * makes itself a new table again and again; the tables it leaves behind point to one another and to
 * their entries, and once one of them is in the old generation all that follow survive until the
 * next full collection, with everything that their entries held: half of all work of collecting
 * garbage in a process that does little else. Here a table that was left behind holds empty boxes.
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

  /** False when there was none. */
  delete(key: K): boolean {
    const box = this.#boxes.get(key);
    if (box === undefined) return false;
    box.value = undefined;
    return this.#boxes.delete(key);
  }

  /** In the order in which the keys came; entries may be added and deleted meanwhile. */
  *values(): Generator<V, void, undefined> {
    for (const { value } of this.#boxes.values()) if (value !== undefined) yield value;
  }
}
