/** For so long nobody may have said that another run of the server is used. */
const UNUSED_MS = 2_000;
/** After a longer pause between two questions the time begins anew. */
const PAUSE_MS_MAX = 5_000;

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
   * The others were asked which run they use, because the connection leads to this one.
   * @param isHeard the bus has answered since: one that used another run could have said so
   * @returns whether it may be used
   */
  mayBeUsed(runId: string, now: number, isHeard: boolean): boolean {
    if (!isHeard || runId !== this.#runId || now - this.#askedAt > PAUSE_MS_MAX) this.#since = now;
    this.#runId = runId;
    this.#askedAt = now;
    return now - this.#since >= UNUSED_MS;
  }

  /** Some replica uses another run, or this one does: the time begins anew. */
  otherIsUsed(): void {
    this.#askedAt = -Infinity;
  }
}
