import { BUCKETS_TOTAL, isLater } from '@gateway/contracts/ids';
import type { BucketEpochs, RedisRun } from '@gateway/contracts/messages';

interface Epoch {
  readonly epoch: string;
  /** Epoch ms. An epoch that must have followed a later one counts as set just after that one. */
  readonly setAt: number;
  /** When this edge received it, in monotonic ms. */
  readonly heardAt: number;
}

/**
 * Tracks the Redis run in force, and its epoch of each bucket. The run with the newest epoch is in
 * force; if two runs have epochs of the same time, the one with the greater ID. Admission uses the
 * same rule (docs/protocol.md#r12). The order in a single bucket may differ. Answers under an epoch
 * of another run, or under an earlier epoch of the bucket, are void (docs/protocol.md#r3).
 * The order of arrival is not used, since an answer of a lost limit store may arrive late, and
 * under an epoch that this edge has never received. There is one exception. If the request was sent
 * when the known epoch was already known, another epoch of the same run in the answer was set
 * later: a limit store that was emptied may get its next epoch from a replica whose clock is
 * behind.
 */
export class EpochTracker {
  #run: RedisRun | undefined;
  readonly #buckets: (Epoch | undefined)[] = new Array<undefined>(BUCKETS_TOTAL).fill(undefined);

  /** @param monotonicMs returns monotonic milliseconds */
  constructor(private readonly monotonicMs: () => number) {}

  /**
   * Records an epoch. Returns false if it is superseded, so its sender used a lost limit store.
   * @param askedAt monotonic time of the request in ms; absent if the message is not an answer
   */
  observe(bucket: number, epoch: string, askedAt = -Infinity): boolean {
    // The usual case: the epoch is known and its run is in force.
    if (this.#buckets[bucket]?.epoch === epoch) return true;
    const run = runOf(epoch);
    this.observeRun(run);
    if (run.id !== this.#run?.id) return false;
    const known = this.#buckets[bucket];
    const isAfter = known === undefined || run.setAt >= known.setAt;
    if (!isAfter && askedAt <= known.heardAt) return false;
    this.#buckets[bucket] = { epoch, setAt: isAfter ? run.setAt : known.setAt + 1, heardAt: this.monotonicMs() };
    return true;
  }

  /** Records a run in use. A run later than the known one supersedes it in all buckets. */
  observeRun(run: RedisRun): void {
    if (this.#run !== undefined && !isLater(run, this.#run)) return;
    if (run.id !== this.#run?.id) this.#buckets.fill(undefined);
    this.#run = { id: run.id, setAt: run.setAt };
  }

  /**
   * Returns the run in force, or undefined if none is known. From it a replica of admission learns
   * that its Redis has been superseded.
   */
  run(): RedisRun | undefined {
    return this.#run;
  }

  /** Returns the bucket's epoch in the run in force, or undefined if none is known. */
  current(bucket: number): string | undefined {
    return this.#buckets[bucket]?.epoch;
  }

  /** Returns the epochs of the run in force, as heartbeats carry them. */
  all(): BucketEpochs {
    return this.#buckets.flatMap((known, bucket) => (known === undefined ? [] : [{ bucket, epoch: known.epoch }]));
  }
}

/** Parses `<run id>.<time>.<random>`. An epoch without a time counts as earlier than all others. */
function runOf(epoch: string): RedisRun {
  const [id = '', time, random] = epoch.split('.');
  return { id, setAt: random === undefined ? 0 : Number(time) || 0 };
}
