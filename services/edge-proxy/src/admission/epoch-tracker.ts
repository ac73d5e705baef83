import { BUCKETS_TOTAL } from '@gateway/contracts/ids';
import type { BucketEpochs } from '@gateway/contracts/messages';

/** Superseded epochs kept per bucket. A late message outlives at most this many losses of Redis. */
const SUPERSEDED_MAX = 8;

interface BucketHistory {
  current: string;
  /** Epoch milliseconds at which the current epoch was set. */
  setAt: number;
  superseded: string[];
}

/**
 * Tracks the current epoch of each bucket. A newer epoch supersedes the one before it, and answers
 * under a superseded epoch are void (docs/protocol.md#r3). The time inside the epochs decides which
 * is newer, and of two of one time the greater id of their runs, as for admission. The order of
 * arrival does not: an answer of a lost limit store may come late, and under an epoch that this
 * edge has never seen.
 */
export class EpochTracker {
  readonly #buckets: (BucketHistory | undefined)[] = new Array<undefined>(BUCKETS_TOTAL).fill(undefined);

  /** Records an epoch. False if it is superseded: its sender saw a limit store that is lost. */
  observe(bucket: number, epoch: string): boolean {
    const known = this.#buckets[bucket];
    if (known === undefined) {
      this.#buckets[bucket] = { current: epoch, setAt: setAtOf(epoch), superseded: [] };
      return true;
    }
    if (known.current === epoch) return true;
    const setAt = setAtOf(epoch);
    const isOfEarlierRun = setAt === known.setAt && runOf(epoch) < runOf(known.current);
    if (setAt < known.setAt || isOfEarlierRun || known.superseded.includes(epoch)) return false;
    known.superseded.push(known.current);
    if (known.superseded.length > SUPERSEDED_MAX) known.superseded.shift();
    known.current = epoch;
    known.setAt = setAt;
    return true;
  }

  current(bucket: number): string | undefined {
    return this.#buckets[bucket]?.current;
  }

  /** The current epoch of each bucket, as heartbeats carry them. */
  all(): BucketEpochs {
    const tokens: BucketEpochs = [];
    for (const [bucket, known] of this.#buckets.entries()) {
      if (known !== undefined) tokens.push({ bucket, token: known.current });
    }
    return tokens;
  }

  /**
   * The epochs that are not in `quoted`, and the newest one of all: by it a replica of admission
   * notices that its Redis has been superseded (docs/protocol.md#r12).
   */
  since(quoted: ReadonlyMap<number, string>): BucketEpochs {
    const newest = Math.max(...this.#buckets.map((known) => known?.setAt ?? 0));
    let isNewestTold = false;
    return this.all().filter(({ bucket, token }) => {
      const isNewest = !isNewestTold && this.#buckets[bucket]?.setAt === newest;
      isNewestTold ||= isNewest;
      return isNewest || quoted.get(bucket) !== token;
    });
  }
}

/** Empty for an epoch that says no time. */
function runOf(epoch: string): string {
  return setAtOf(epoch) === 0 ? '' : epoch.slice(0, epoch.indexOf('.'));
}

/**
 * Reads the milliseconds in `<run id>.<time>.<random>`. Epochs of older releases have no time and
 * give 0: among them the one that arrives later is newer.
 */
function setAtOf(epoch: string): number {
  const [, time, random] = epoch.split('.');
  return random === undefined ? 0 : Number(time) || 0;
}
