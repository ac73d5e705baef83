/** Databases that are remembered; more exist only where each restore was one to a new server. */
const SYSTEMS_MAX = 16;

/**
 * The highest timeline that is known of each database: a promotion begins a higher one. A primary
 * on a lower one was replaced and must not be used again: what it is told would be lost. Databases
 * are told apart by PostgreSQL's system identifier: one that was made anew begins at 1.
 */
export class Timelines {
  readonly #highest = new Map<string, number>();
  readonly #listeners = new Set<(system: string, highest: number) => void>();

  /** 0: none is known. */
  highest(system: string): number {
    return this.#highest.get(system) ?? 0;
  }

  /** The highest timelines by the system identifiers of their databases. */
  all(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#highest);
  }

  /** Takes a timeline that somebody has seen; lower ones change nothing. */
  observe(system: string, timeline: number): void {
    if (timeline <= this.highest(system)) return;
    // The longest unchanged one gives way.
    this.#highest.delete(system);
    this.#highest.set(system, timeline);
    const [oldest = ''] = this.#highest.keys();
    if (this.#highest.size > SYSTEMS_MAX) this.#highest.delete(oldest);
    for (const listener of this.#listeners) listener(system, timeline);
  }

  /** Calls `listener` with each new highest one; gives what ends that. */
  onRise(listener: (system: string, highest: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
