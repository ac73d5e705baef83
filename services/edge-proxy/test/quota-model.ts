import { ManualClock } from '@gateway/testkit/clocks';
import type { CatalogSource } from '@gateway/contracts/messages';
import type { SeededRandom } from '@gateway/testkit/random';
import type { QuotaEntry } from '../src/ports.js';
import { SourceQuotas, type Permit } from '../src/quotas/source-quotas.js';
import { sourceEntry } from './edge-world.js';

/** A message in transit. */
interface OnTheWay {
  readonly atMs: number;
  readonly arrive: () => void;
}

interface Wait {
  readonly atMs: number;
  readonly expired: () => void;
  isCancelled: boolean;
}

/** Number of an edge's messages since the last lost one. */
interface Losses {
  since: number;
  /** The edge cannot reach the store until this time. */
  cutUntilMs: number;
}

interface ModelEdge {
  readonly quotas: SourceQuotas;
  readonly losses: Losses;
  /** The calls at the source, with their true end times. */
  calls: { readonly endsAtMs: number; readonly permit: Permit }[];
  isDead: boolean;
}

export interface ModelOptions {
  readonly random: SeededRandom;
  readonly quota: NonNullable<CatalogSource['quota']>;
  readonly edges: number;
  readonly trouble: Trouble;
}

export interface Trouble {
  /** Longest delay of one in five messages. The others are delayed by at most a hundredth of it. */
  readonly delayMsMax: number;
  /** Least number of an edge's messages between two lost ones. */
  readonly lossesApart: number;
  readonly skewMsMax: number;
  readonly callMsMax: number;
  /** Duration of an edge's occasional cut from the store, or 0 for no cuts. */
  readonly cutMs: number;
}

const TIMEOUT_MS = 1_000;
const ROUND_MS = 250;
const OTHER = sourceEntry('src-other', 'https://other.example');
const LIMITED = sourceEntry('src-q', 'https://one.example');

/**
 * A model of edges that share the quotas of one source through a store. Messages may be delayed,
 * lost, or stored after the sender has timed out; edges die and are replaced. The model controls
 * the time.
 */
export class QuotaModel {
  readonly #random: SeededRandom;
  readonly #options: ModelOptions;
  readonly #source: CatalogSource;
  readonly #edges: ModelEdge[] = [];
  #messages: OnTheWay[] = [];
  #waits: Wait[] = [];
  #stored: QuotaEntry | null = null;
  #nowMs = 1_000_000_000;
  #started = 0;
  /** True times of the requests sent to the source in the last minute. */
  #sent: number[] = [];
  /** The most concurrent calls, and the most requests in any minute, of all edges. */
  readonly most = { requests: 0, calls: 0 };
  readonly total = { sent: 0, last: 0 };

  constructor(options: ModelOptions) {
    this.#options = options;
    this.#random = options.random;
    this.#source = { ...LIMITED, quota: options.quota };
    for (let at = 0; at < options.edges; at += 1) this.#edges.push(this.#newEdge());
  }

  /** Advances a quarter of a second: calls and messages arrive, and sometimes an edge dies. */
  async round(load: number): Promise<void> {
    for (let tick = 0; tick < 10; tick += 1) {
      this.#nowMs += ROUND_MS / 10;
      this.#arrive();
      for (const edge of this.#edges) {
        this.#endCalls(edge);
        if (!edge.isDead && this.#random.chance(load)) void this.#call(edge);
      }
      await settled();
    }
    for (const edge of this.#edges) if (!edge.isDead) edge.quotas.renewDue();
    if (this.#random.chance(0.01)) this.#replace();
    if (this.#random.chance(0.02))
      this.#random.pick(this.#edges).losses.cutUntilMs = this.#nowMs + this.#options.trouble.cutMs;
    await settled();
  }

  async #call(edge: ModelEdge): Promise<void> {
    const { at, permit } = await edge.quotas.next([this.#source, OTHER], () => 10);
    if (edge.isDead) return;
    if (at === 1) {
      this.total.last += 1;
      return;
    }
    edge.calls.push({ endsAtMs: this.#nowMs + this.#random.next() * this.#options.trouble.callMsMax, permit });
    this.total.sent += 1;
    this.#sent = this.#sent.filter((sentAtMs) => sentAtMs > this.#nowMs - 60_000);
    this.#sent.push(this.#nowMs);
    this.most.requests = Math.max(this.most.requests, this.#sent.length);
    this.most.calls = Math.max(
      this.most.calls,
      this.#edges.reduce((sum, { calls }) => sum + calls.length, 0),
    );
  }

  #endCalls(edge: ModelEdge): void {
    const over = edge.calls.filter(({ endsAtMs }) => endsAtMs <= this.#nowMs);
    edge.calls = edge.calls.filter(({ endsAtMs }) => endsAtMs > this.#nowMs);
    for (const { permit } of over) {
      permit.counted(20);
      permit.ended();
    }
  }

  /** Ends an edge, by a crash or an orderly stop, and starts another one. */
  #replace(): void {
    const at = this.#random.below(this.#edges.length);
    const edge = this.#edges[at];
    if (edge === undefined) return;
    if (this.#random.chance(0.5)) {
      for (const { permit } of edge.calls) permit.ended();
      edge.quotas.stop();
    }
    edge.calls = [];
    edge.isDead = true;
    this.#edges[at] = this.#newEdge();
  }

  #newEdge(): ModelEdge {
    const losses: Losses = { since: 0, cutUntilMs: 0 };
    const skewMs = (this.#random.next() * 2 - 1) * this.#options.trouble.skewMsMax;
    const quotas = new SourceQuotas({
      edge: `e${(this.#started += 1)}`,
      store: {
        readQuota: () => this.#exchange(losses, () => this.#stored),
        replaceQuota: (_source, value, revision) => this.#exchange(losses, () => this.#replaceStored(value, revision)),
      },
      deadlines: {
        nowMs: () => this.#nowMs,
        in: (ms, expired) => {
          const wait: Wait = { atMs: this.#nowMs + ms, expired, isCancelled: false };
          this.#waits.push(wait);
          return { cancel: () => (wait.isCancelled = true) };
        },
      },
      clock: { nowMs: () => Math.floor(this.#nowMs + skewMs) },
      // Does not advance: the model renews shares.
      timers: new ManualClock(),
      random: this.#random.next,
      onFailed: () => undefined,
      onOverQuota: () => undefined,
    });
    return { quotas, losses, calls: [], isDead: false };
  }

  #replaceStored(value: string, revision: number): boolean {
    if ((this.#stored?.revision ?? 0) !== revision) return false;
    this.#stored = { value, revision: revision + 1 };
    return true;
  }

  /** Most exchanges are quick; some messages are lost, and some answers arrive too late. */
  #exchange<T>(losses: Losses, act: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const { delayMsMax } = this.#options.trouble;
      const isQuick = this.#random.chance(0.8);
      const delayMs = (): number => this.#random.next() * (isQuick ? delayMsMax / 100 : delayMsMax);
      const [isLost, isUnanswered] = [this.#loses(losses), this.#loses(losses)];
      const askedAtMs = this.#nowMs;
      this.#waits.push({
        atMs: askedAtMs + TIMEOUT_MS,
        expired: () => reject(Object.assign(new Error('late'), { code: 'timeout' })),
        isCancelled: false,
      });
      if (isLost) return;
      this.#post(delayMs(), () => {
        const answer = act();
        if (!isUnanswered) this.#post(delayMs(), () => resolve(answer));
      });
    });
  }

  #loses(losses: Losses): boolean {
    losses.since += 1;
    if (losses.cutUntilMs > this.#nowMs) return true;
    if (losses.since < this.#options.trouble.lossesApart || !this.#random.chance(0.1)) return false;
    losses.since = 0;
    return true;
  }

  #post(delayMs: number, arrive: () => void): void {
    this.#messages.push({ atMs: this.#nowMs + delayMs, arrive });
  }

  #arrive(): void {
    const due = this.#messages.filter(({ atMs }) => atMs <= this.#nowMs).sort((a, b) => a.atMs - b.atMs);
    this.#messages = this.#messages.filter(({ atMs }) => atMs > this.#nowMs);
    for (const { arrive } of due) arrive();
    const waits = this.#waits.filter(({ atMs }) => atMs <= this.#nowMs);
    this.#waits = this.#waits.filter(({ atMs, isCancelled }) => atMs > this.#nowMs && !isCancelled);
    for (const { expired, isCancelled } of waits) if (!isCancelled) expired();
  }
}

/** More steps than any promise chain in an exchange has. */
const CHAIN_MAX = 20;

/** Waits until all arrived messages are processed. */
async function settled(): Promise<void> {
  for (let step = 0; step < CHAIN_MAX; step += 1) await Promise.resolve();
}
