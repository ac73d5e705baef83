import { setAtOf } from './epoch.js';

/**
 * When epochs were set that a process knows of: those of the limit store that it is connected to,
 * and those of other runs that edges and other replicas quote. Times are epoch ms.
 */
export class EpochHistory {
  #runId = '';
  /** The newest one of the connected run; 0: none was seen yet. */
  #own = 0;
  /** The newest one of all other runs. */
  #heard = 0;

  /** A server has come into use, perhaps the same one as before. */
  begin(runId: string): void {
    if (runId !== this.#runId) this.#heard = Math.max(this.#heard, this.#own);
    this.#runId = runId;
    this.#own = 0;
  }

  /** An epoch that the connected server answered, or that somebody quotes; empty: none. */
  observe(epoch: string): void {
    const setAt = setAtOf(epoch);
    if (epoch.startsWith(`${this.#runId}.`)) this.#own = Math.max(this.#own, setAt);
    else this.#heard = Math.max(this.#heard, setAt);
  }

  /**
   * Whether another run of the server decides now: its epochs were set after those of the connected
   * one (docs/protocol.md#r12). False while none of the connected one is known: it has lost all,
   * and its next epochs are later.
   */
  isSuperseded(): boolean {
    return this.#heard > this.#own && this.#own > 0;
  }

  /** A time for a new epoch: later than that of each known one. */
  nextTime(nowMs: number): number {
    return Math.max(nowMs, this.#own + 1, this.#heard + 1);
  }
}
