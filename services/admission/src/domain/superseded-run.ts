import { type EpochHistory, isLater, type RunOfRedis } from './epoch-history.js';

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

  /** The others were asked which run they use, because the connection leads to this one. */
  asked(runId: string, now: number): void {
    if (runId !== this.#runId || now - this.#askedAt > PAUSE_MS_MAX) this.#since = now;
    this.#runId = runId;
    this.#askedAt = now;
  }

  /** Some replica uses another run, or this one does: the time begins anew. */
  otherIsUsed(): void {
    this.#askedAt = -Infinity;
  }

  /**
   * Another replica asks who uses a run that supersedes its own, or says that it uses one.
   * @param isConnected this replica uses the run of `epochs`
   * @returns what the other replicas are to be told; null: nothing
   */
  hear(run: RunOfRedis, epochs: EpochHistory, isConnected: boolean): RunOfRedis | null {
    if (run.isUsed && isLater(run, epochs.connected())) this.otherIsUsed();
    return isConnected ? epochs.answerTo(run) : null;
  }

  /** Whether the run that was asked for may be used. */
  mayBeUsed(now: number): boolean {
    return now - this.#askedAt <= PAUSE_MS_MAX && now - this.#since >= UNUSED_MS;
  }
}
