import { isLater } from '@gateway/contracts/ids';
import type { RedisRun } from '@gateway/contracts/messages';

/** Runs of servers that are remembered: a failover adds one. */
const RUNS_MAX = 16;

/** A run of Redis as replicas tell each other of it. */
export interface RunOfRedis extends RedisRun {
  /** The replica uses it; else it is led to it, and asks who uses a later one. */
  readonly isUsed: boolean;
}

/**
 * When epochs were set that a process knows of: those of the limit store that it is connected to,
 * and those of other runs that edges and other replicas quote. Times are epoch ms.
 */
export class EpochHistory {
  #runId = '';
  /**
   * The newest epoch of each run. Of the connected one only what was observed since it was
   * connected; what somebody quotes before that is of a run that may have lost all in between.
   */
  readonly #newest = new Map<string, number>();

  /**
   * A server is connected, perhaps the same one as before.
   * @param epochs of all its buckets: of one alone another one's may be the newest
   */
  begin(runId: string, epochs: readonly string[]): void {
    this.#runId = runId;
    this.#newest.delete(runId);
    for (const epoch of epochs) this.observe(epoch);
  }

  /** An epoch that the connected server answered, or that somebody quotes; empty: none. */
  observe(epoch: string): void {
    this.#observe(runOf(epoch), setAtOf(epoch));
  }

  /** A run that another replica uses, or an edge knows. */
  observeRun({ id, setAt }: RedisRun): void {
    if (id !== this.#runId) this.#observe(id, setAt);
  }

  /**
   * Whether another run of the server decides now: its epochs were set after those of the connected
   * one (docs/protocol.md#r12). False while none of the connected one is known: it has lost all,
   * and its next epochs are later.
   */
  isSuperseded(): boolean {
    const own = this.connected();
    return own.setAt > 0 && [...this.#newest].some(([id, setAt]) => isLater({ id, setAt }, own));
  }

  /** The connected run; `setAt` 0: none of its epochs is known. */
  connected(): RedisRun {
    return { id: this.#runId, setAt: this.#newest.get(this.#runId) ?? 0 };
  }

  /** Whether the connected run is another one, and later. */
  supersedes(run: RedisRun): boolean {
    const own = this.connected();
    return run.id !== own.id && isLater(own, run);
  }

  /** A time for a new epoch: later than that of each known one. */
  nextTime(nowMs: number): number {
    return Math.max(nowMs, this.#last() + 1);
  }

  /** Of all runs; 0: none is known. */
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
 * The token of a bucket: which run of the server keeps it, when it was set (epoch ms), and what no
 * other token has. Which of two runs is the later one says docs/protocol.md#r12, whatever the order
 * in which tokens are heard of.
 */
export function makeEpoch(runId: string, setAt: number, random: string): string {
  return `${runId}.${setAt}.${random}`;
}

/**
 * When a token was set, epoch ms; 0 when it does not say, as those that were set before tokens had
 * a time.
 */
export function setAtOf(token: string): number {
  const [, time, random] = token.split('.');
  return random === undefined ? 0 : Number(time) || 0;
}

/** Which run of the server keeps a token; empty: it does not say. */
export function runOf(token: string): string {
  return token.slice(0, Math.max(0, token.indexOf('.')));
}
