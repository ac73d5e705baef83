import { isLater } from '@gateway/contracts/ids';
import type { RedisRun } from '@gateway/contracts/messages';

/** Server runs to remember. Each failover adds one. */
const RUNS_MAX = 16;

/** A run of Redis in the messages between replicas. */
export interface ReplicaRun extends RedisRun {
  /** Whether the replica uses the run. If not, it is only connected and requests a later run. */
  readonly isUsed: boolean;
}

/**
 * Set times of all epochs that a process knows: those of the connected limit store, and those of
 * other runs that edges and other replicas quote. Times are epoch ms.
 */
export class EpochHistory {
  #runId = '';
  /**
   * The newest epoch of each run. For the connected run only epochs observed since the connection
   * count: an epoch that was quoted before may have been lost with the run's data.
   */
  readonly #newest = new Map<string, number>();

  /**
   * A server is connected, possibly the same one as before.
   * @param epochs of all its buckets, because any of them may be the newest
   */
  begin(runId: string, epochs: readonly string[]): void {
    this.#runId = runId;
    this.#newest.delete(runId);
    for (const epoch of epochs) this.observe(epoch);
  }

  /** Records an epoch that the connected server, an edge or a replica reports; empty: ignored. */
  observe(epoch: string): void {
    this.#observe(parseEpochRun(epoch), parseEpochTime(epoch));
  }

  /** Records a run that another replica uses or an edge knows. */
  observeRun({ id, setAt }: RedisRun): void {
    if (id !== this.#runId) this.#observe(id, setAt);
  }

  /**
   * Whether another run of the server now makes the decisions: its epochs were set after those of
   * the connected run (docs/protocol.md#r12). False while no epoch of the connected run is known:
   * that run has lost its data, and its next epochs are later.
   */
  isSuperseded(): boolean {
    const own = this.connected();
    return own.setAt > 0 && [...this.#newest].some(([id, setAt]) => isLater({ id, setAt }, own));
  }

  /** The connected run. `setAt` 0: none of its epochs is known. */
  connected(): RedisRun {
    return { id: this.#runId, setAt: this.#newest.get(this.#runId) ?? 0 };
  }

  /** Whether the connected run is a different and later one. */
  supersedes(run: RedisRun): boolean {
    const own = this.connected();
    return run.id !== own.id && isLater(own, run);
  }

  /** Returns a time for a new epoch, later than all known epochs. */
  nextTime(nowMs: number): number {
    return Math.max(nowMs, this.#last() + 1);
  }

  /** The latest set time of all runs; 0: no epoch is known. */
  #last(): number {
    return Math.max(0, ...this.#newest.values());
  }

  #observe(runId: string, setAt: number): void {
    if (setAt > (this.#newest.get(runId) ?? 0)) this.#newest.set(runId, setAt);
    if (this.#newest.size > RUNS_MAX) this.#forgetOldest();
  }

  #forgetOldest(): void {
    const others = [...this.#newest].filter(([runId]) => runId !== this.#runId);
    const [oldest] = others.sort(([, one], [, other]) => one - other);
    if (oldest !== undefined) this.#newest.delete(oldest[0]);
  }
}

/**
 * Builds the epoch of a bucket from the server run that keeps it, its set time (epoch ms) and a
 * unique random part. The order of two runs follows from docs/protocol.md#r12, not from the order
 * in which their epochs arrive.
 */
export function makeEpoch(runId: string, setAt: number, random: string): string {
  return `${runId}.${setAt}.${random}`;
}

/** Returns the set time of an epoch, epoch ms; 0 if the epoch contains no time. */
export function parseEpochTime(epoch: string): number {
  const [, time, random] = epoch.split('.');
  return random === undefined ? 0 : Number(time) || 0;
}

/** Returns the server run that keeps an epoch; empty if the epoch does not name it. */
export function parseEpochRun(epoch: string): string {
  return epoch.slice(0, Math.max(0, epoch.indexOf('.')));
}
