import { InvalidControlInput, type ListenerName, type PreparedScript, type ScriptAction } from './script.js';

/** Maximum number of waiting scripts over all models, and of names with unused releases. */
export const QUEUED_MAX = 10_000;

/** Scripts per model, used in the order in which they were queued. */
export class ScriptQueue {
  #scripts: PreparedScript[] = [];

  /** Number of waiting scripts. */
  get size(): number {
    return this.#scripts.length;
  }

  /** Appends a script. Throws `InvalidControlInput` if {@link QUEUED_MAX} are waiting. */
  add(script: PreparedScript): void {
    if (this.size >= QUEUED_MAX) throw new InvalidControlInput(`${QUEUED_MAX} scripts are already waiting`);
    this.#scripts.push(script);
  }

  /** Returns the actions for the next call of the model on that listener, and counts one use. */
  take(model: string, name: ListenerName): ScriptAction[] | undefined {
    const index = this.#scripts.findIndex((script) => script.model === model && (script.listener ?? name) === name);
    const script = this.#scripts[index];
    if (script === undefined) return undefined;
    script.times -= 1;
    if (script.times === 0) this.#scripts.splice(index, 1);
    return script.actions;
  }

  /** Removes the scripts of one model, or all. */
  clear(model?: string): void {
    this.#scripts = this.#scripts.filter((script) => model !== undefined && script.model !== model);
  }
}

/**
 * Named counting semaphores for `waitFor` steps. A release lets exactly one waiting call continue,
 * the longest waiting first. Without a waiting call it is kept for the next one, so a test need not
 * know whether the script already waits.
 */
export class Semaphores {
  readonly #permits = new Map<string, number>();
  readonly #waiting = new Set<{ readonly name: string; readonly pass: () => void }>();

  release(name: string): void {
    const first = [...this.#waiting].find((one) => one.name === name);
    if (first !== undefined) return first.pass();
    if (this.#permits.size >= QUEUED_MAX) throw new InvalidControlInput(`${QUEUED_MAX} names keep releases`);
    this.#permits.set(name, (this.#permits.get(name) ?? 0) + 1);
  }

  /** Resolves when a release lets this call continue, or when its client disconnects. */
  async wait(name: string, left: AbortSignal): Promise<void> {
    const kept = this.#permits.get(name) ?? 0;
    if (kept > 1) this.#permits.set(name, kept - 1);
    else this.#permits.delete(name);
    if (kept > 0 || left.aborted) return;
    await new Promise<void>((resolve) => {
      const waiting = {
        name,
        pass: () => {
          this.#waiting.delete(waiting);
          resolve();
        },
      };
      this.#waiting.add(waiting);
      left.addEventListener('abort', waiting.pass);
    });
  }

  /** Drops kept releases. Waiting calls continue to wait. */
  clear(): void {
    this.#permits.clear();
  }
}
