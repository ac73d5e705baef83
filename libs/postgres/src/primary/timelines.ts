/** Maximum number of databases. More occur only if each restore used a new server. */
const SYSTEMS_MAX = 16;

/**
 * The highest known timeline of each database. Each promotion starts a higher one. A primary on a
 * lower timeline was replaced and must not be used again, because writes to it would be lost.
 * PostgreSQL's system identifier distinguishes databases; a newly created one starts at timeline 1.
 */
export class Timelines {
  readonly #highest = new Map<string, number>();
  readonly #listeners = new Set<(system: string, highest: number) => void>();

  /** 0: unknown. */
  highest(system: string): number {
    return this.#highest.get(system) ?? 0;
  }

  /** The highest timelines by system identifier. */
  all(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#highest);
  }

  /** Records a timeline. Lower ones are ignored. */
  observe(system: string, timeline: number): void {
    if (timeline <= this.highest(system)) return;
    // Drops the entry that has been unchanged for the longest time.
    this.#highest.delete(system);
    this.#highest.set(system, timeline);
    const [oldest = ''] = this.#highest.keys();
    if (this.#highest.size > SYSTEMS_MAX) this.#highest.delete(oldest);
    for (const listener of this.#listeners) listener(system, timeline);
  }

  /** Calls `listener` with each new highest timeline. Returns a function that removes it. */
  onRise(listener: (system: string, highest: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
