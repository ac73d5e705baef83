/** For so long nobody may have said that another run of the server is used. */
const UNUSED_MS = 2_000;
/** How often the other replicas are asked. */
const ASK_MS = 250;
/** After a longer pause between two questions the time begins anew. */
const PAUSE_MS_MAX = 1_000;

/**
 * Whether a server may be used although the epochs of another run are later than its own: when a
 * replica is led to it all the time, and nobody uses the other run (docs/protocol.md#r12). Two
 * servers that both decided for a moment may have got their epochs in the wrong order. Times are
 * monotonic milliseconds.
 */
export class SupersededRun {
  #runId = '';
  #since = 0;
  #askedAt = -Infinity;

  /**
   * The connection leads to a run that is superseded.
   * @param ask asks the other replicas which run they use; false: the bus is away
   */
  mayBeUsed(runId: string, now: number, ask: () => boolean): boolean {
    const passed = now - this.#askedAt;
    if (runId !== this.#runId || passed > PAUSE_MS_MAX) this.#since = now;
    this.#runId = runId;
    if (passed >= ASK_MS) {
      this.#askedAt = now;
      if (!ask()) this.#askedAt = -Infinity;
    }
    return this.#askedAt !== -Infinity && now - this.#since >= UNUSED_MS;
  }

  /** A replica has answered that it uses the run. */
  isUsed(runId: string): void {
    if (runId !== this.#runId) this.#askedAt = -Infinity;
  }
}
