import { type CheckedSteps, type ListenerName, type Script, checkSteps } from './script.js';

interface WaitingScript extends Omit<Script, 'steps'> {
  times: number;
  readonly checked: CheckedSteps;
}

/** Scripts per model, used in the order in which they were queued. */
export class ScriptQueue {
  #scripts: WaitingScript[] = [];

  /** Number of waiting scripts. */
  get size(): number {
    return this.#scripts.length;
  }

  /** Appends a script. @throws Error if it could not be played */
  add({ model, times = 1, listener, steps }: Script): void {
    this.#scripts.push({ model, times, listener, checked: checkSteps(steps) });
  }

  /** Returns the steps for the next call of the model on that listener, and counts one use. */
  take(model: string, name: ListenerName): CheckedSteps | undefined {
    const index = this.#scripts.findIndex((script) => script.model === model && (script.listener ?? name) === name);
    const script = this.#scripts[index];
    if (script === undefined) return undefined;
    script.times -= 1;
    if (script.times === 0) this.#scripts.splice(index, 1);
    return script.checked;
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
          left.removeEventListener('abort', waiting.pass);
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
