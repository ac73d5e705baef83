import { InvalidControlInput } from './script.js';

/** Most gate names with releases that nobody has used yet. */
export const GATES_MAX = 10_000;
/** Most passes given by one release. */
export const PASSES_MAX = 1_000_000;

/**
 * Named gates for `waitFor` steps. A release lets exactly one waiting call pass, the longest waiting first; without one it
 * is kept for the next, so a test need not know whether the script has arrived at its gate yet.
 */
export class Gates {
  readonly #passes = new Map<string, number>();
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Lets `passes` calls through the gate, waiting ones first. Throws `InvalidControlInput` above the bounds. */
  release(name: string, passes: number): void {
    for (let given = 0; given < passes; given += 1) {
      const next = this.#waiting.get(name)?.values().next().value;
      if (next === undefined) return this.#keep(name, passes - given);
      next();
    }
  }

  /** Resolves when a release lets this call pass, or when the signal says that its client left. */
  async wait(name: string, left: AbortSignal): Promise<void> {
    const kept = this.#passes.get(name) ?? 0;
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

  /** Forgets kept releases; calls that wait go on waiting. */
  clear(): void {
    this.#passes.clear();
  }

  #keep(name: string, passes: number): void {
    const kept = (this.#passes.get(name) ?? 0) + passes;
    if (kept > PASSES_MAX) throw new InvalidControlInput(`gate "${name}" keeps at most ${PASSES_MAX} releases`);
    if (!this.#passes.has(name) && this.#passes.size >= GATES_MAX) {
      throw new InvalidControlInput(`${GATES_MAX} gates keep releases already`);
    }
    this.#set(name, kept);
  }

  #set(name: string, passes: number): void {
    if (passes === 0) this.#passes.delete(name);
    else this.#passes.set(name, passes);
  }
}
