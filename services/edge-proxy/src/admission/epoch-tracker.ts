import { BUCKETS_TOTAL, isLater } from '@gateway/contracts/ids';
import type { BucketEpochs, RedisRun } from '@gateway/contracts/messages';

interface Epoch {
  readonly token: string;
  /** Epoch ms. An epoch that must have followed a later one counts as set just after that. */
  readonly setAt: number;
  /** Since when this edge knows it, monotonic ms. */
  readonly heardAt: number;
}

/**
 * Tracks the run of Redis that decides, and its epoch of each bucket. Of two runs the one with the
 * newest epoch decides, and of two with epochs of one time the one with the greater id, as for
 * admission (docs/protocol.md#r12): in one bucket alone the order may be another. Answers under an
 * epoch of another run, or under an earlier one of the bucket, are void (docs/protocol.md#r3). The
 * order of arrival says nothing: an answer of a lost limit store may come late, and under an epoch
 * that this edge has never seen. But what the same run answers to a question that was asked when
 * the known epoch was known already, was set after that one: a limit store that was emptied may get
 * its next epoch from a replica whose clock is behind.
 */
export class EpochTracker {
  #run: RedisRun | undefined;
  readonly #buckets: (Epoch | undefined)[] = new Array<undefined>(BUCKETS_TOTAL).fill(undefined);

  /** @param monotonicMs milliseconds that never go back */
  constructor(private readonly monotonicMs: () => number) {}

  /**
   * Records an epoch. False if it is superseded: its sender saw a limit store that is lost.
   * @param askedAt when the question was sent that this answers, monotonic ms; absent: nobody asked
   */
  observe(bucket: number, token: string, askedAt = -Infinity): boolean {
    // Nearly every answer: what is known is of the run that decides.
    if (this.#buckets[bucket]?.token === token) return true;
    const run = runOf(token);
    this.observeRun(run);
    if (run.id !== this.#run?.id) return false;
    const known = this.#buckets[bucket];
    const isAfter = known === undefined || run.setAt >= known.setAt;
    if (!isAfter && askedAt <= known.heardAt) return false;
    this.#buckets[bucket] = { token, setAt: isAfter ? run.setAt : known.setAt + 1, heardAt: this.monotonicMs() };
    return true;
  }

  /** A run that is used. A later one than the run that is known supersedes it, in all buckets. */
  observeRun(run: RedisRun): void {
    if (this.#run !== undefined && !isLater(run, this.#run)) return;
    if (run.id !== this.#run?.id) this.#buckets.fill(undefined);
    this.#run = { id: run.id, setAt: run.setAt };
  }

  /**
   * The run that decides; undefined: none is known. By it a replica of admission notices that its
   * Redis has been superseded.
   */
  run(): RedisRun | undefined {
    return this.#run;
  }

  /** Of the run that decides; undefined: none of its epochs of this bucket is known. */
  current(bucket: number): string | undefined {
    return this.#buckets[bucket]?.token;
  }

  /** The epochs of the run that decides, as heartbeats carry them. */
  all(): BucketEpochs {
    return this.#buckets.flatMap((known, bucket) => (known === undefined ? [] : [{ bucket, token: known.token }]));
  }
}

/** Reads `<run id>.<time>.<random>`. One that does not say its time was set before all others. */
function runOf(token: string): RedisRun {
  const [id = '', time, random] = token.split('.');
  return { id, setAt: random === undefined ? 0 : Number(time) || 0 };
}
