import { InvalidControlInput } from './script.js';
import type { ListenerName, PreparedScript, ScriptAction } from './script.js';

/** Maximum number of waiting scripts over all models. */
export const SCRIPTS_MAX = 10_000;

/** Scripts per model, used in the order in which they were queued. */
export class ScriptQueue {
  /** Number of waiting scripts. */
  size = 0;
  readonly #byModel = new Map<string, PreparedScript[]>();

  /** Appends a script. Throws `InvalidControlInput` if {@link SCRIPTS_MAX} are waiting. */
  add(script: PreparedScript): void {
    if (this.size >= SCRIPTS_MAX) throw new InvalidControlInput(`${SCRIPTS_MAX} scripts are already waiting`);
    const waiting = this.#byModel.get(script.model);
    if (waiting === undefined) this.#byModel.set(script.model, [script]);
    else waiting.push(script);
    this.size += 1;
  }

  /**
   * Returns the actions for the next call of the model on that listener and counts one use;
   * undefined without a script.
   */
  take(model: string, listener: ListenerName): ScriptAction[] | undefined {
    const waiting = this.size === 0 ? undefined : this.#byModel.get(model);
    if (waiting === undefined) return undefined;
    const index = waiting.findIndex((script) => script.listener === undefined || script.listener === listener);
    const script = waiting[index];
    if (script === undefined) return undefined;
    script.times -= 1;
    if (script.times === 0) {
      waiting.splice(index, 1);
      this.size -= 1;
      if (waiting.length === 0) this.#byModel.delete(model);
    }
    return script.actions;
  }

  /** Removes the scripts of one model, or all. */
  clear(model?: string): void {
    if (model === undefined) {
      this.#byModel.clear();
      this.size = 0;
    } else {
      this.size -= this.#byModel.get(model)?.length ?? 0;
      this.#byModel.delete(model);
    }
  }
}
