import { InvalidControlInput } from './script.js';

/** Maximum number of names with unused releases. */
export const SEMAPHORES_MAX = 10_000;
/** Maximum number of permits in one release. */
export const PERMITS_MAX = 1_000_000;

/**
 * Named counting semaphores for `waitFor` steps. A release lets exactly one waiting call continue,
 * the longest waiting first. Without a waiting call it is kept for the next one, so a test need not
 * know whether the script already waits.
 */
export class Semaphores {
  readonly #permits = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();

  /**
   * Lets `permits` calls continue, waiting ones first.
   * @throws InvalidControlInput above the bounds
   */
  release(name: string, permits: number): void {
    for (let given = 0; given < permits; given += 1) {
      const next = this.#waiting.get(name)?.values().next().value;
      if (next === undefined) return this.#keep(name, permits - given);
      next();
    }
  }

  /** Resolves when a release lets this call continue, or when its client disconnects. */
  async wait(name: string, left: AbortSignal): Promise<void> {
    const kept = this.#permits.get(name) ?? 0;
    if (kept > 0) return this.#set(name, kept - 1);
    if (left.aborted) return;
    await new Promise<void>((resolve) => {
      const waiting = this.#waiting.get(name) ?? new Set();
      const pass = (): void => {
        waiting.delete(pass);
        if (waiting.size === 0) this.#waiting.delete(name);
        left.removeEventListener('abort', pass);
        resolve();
      };
      this.#waiting.set(name, waiting.add(pass));
      left.addEventListener('abort', pass);
    });
  }

  /** Drops kept releases. Waiting calls continue to wait. */
  clear(): void {
    this.#permits.clear();
  }

  #keep(name: string, permits: number): void {
    const kept = (this.#permits.get(name) ?? 0) + permits;
    if (kept > PERMITS_MAX) throw new InvalidControlInput(`semaphore "${name}" keeps at most ${PERMITS_MAX} releases`);
    if (!this.#permits.has(name) && this.#permits.size >= SEMAPHORES_MAX) {
      throw new InvalidControlInput(`${SEMAPHORES_MAX} semaphores already keep releases`);
    }
    this.#set(name, kept);
  }

  #set(name: string, permits: number): void {
    if (permits === 0) this.#permits.delete(name);
    else this.#permits.set(name, permits);
  }
}
