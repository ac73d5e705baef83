import type { ScriptCall, ScriptReply } from '../domain/script-call.js';
import { AdmissionFault } from '../ports.js';
import type { LimitStore } from '../ports.js';

/** Scripts in one pipeline; more go in the next one of the same turn. */
const PIPELINE_MAX = 1_000;

interface Waiting {
  readonly call: ScriptCall;
  readonly resolve: (reply: ScriptReply) => void;
  readonly reject: (fault: unknown) => void;
}

/**
 * Runs single scripts, those of one event-loop turn in one pipeline: the calls that waited for one
 * load go on together, and a write to the socket for each of them would cost more than the scripts.
 */
export class ScriptBatcher {
  #waiting: Waiting[] = [];

  constructor(private readonly limitStore: Pick<LimitStore, 'run'>) {}

  /** @throws AdmissionFault when the script could not run */
  run(call: ScriptCall): Promise<ScriptReply> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#flush());
      this.#waiting.push({ call, resolve, reject });
    });
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < waiting.length; from += PIPELINE_MAX) {
      void this.#send(waiting.slice(from, from + PIPELINE_MAX));
    }
  }

  async #send(waiting: readonly Waiting[]): Promise<void> {
    try {
      const replies = await this.limitStore.run(waiting.map(({ call }) => call));
      for (const [index, { resolve, reject }] of waiting.entries()) {
        const reply = replies[index];
        if (reply === undefined || reply instanceof AdmissionFault) reject(reply ?? new Error('no reply'));
        else resolve(reply);
      }
    } catch (fault) {
      for (const { reject } of waiting) reject(fault);
    }
  }
}
