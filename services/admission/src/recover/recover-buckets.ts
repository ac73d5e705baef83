import { bucketOfAccount } from '@gateway/contracts/ids';
import { counter, every } from '@gateway/service-kit';
import { applyReleases } from '../apply/apply-releases.js';
import {
  type LastHeartbeat,
  hasReported,
  isGone,
  isLive,
  lastHeartbeats,
  newestMarks,
  silenceClock,
} from '../heartbeats/last-heartbeats-rules.js';
import { type ScriptReply, inOrder } from '../limit-store/script-rules.js';
import { RESTORER_KEY } from '../limit-store/key-rules.js';
import { openCall, restoreCall } from '../limit-store/token-script.js';
import { holdCalls } from '../heartbeats/hold-calls.js';
import type { RecordCache } from '../records/record-cache.js';
import { AdmissionFault, type Ports } from '../ports.js';

/** How often edges are asked to report (docs/protocol.md#r12), and at once for every new token. */
const REPORT_MS = 300;
/**
 * How soon after a report the heartbeats are looked at; then after twice the time each, and at the
 * latest with the next report.
 */
const LOOK_FIRST_MS = 20;
/** A replica that restores and falls silent keeps the others waiting for so long. */
const LEASE_MS = 2_000;
/** After so long a silent edge counts with its last heartbeat. */
const WAIT_MAX_MS = 12_000;

interface Restoring {
  readonly token: string;
  /** Monotonic milliseconds of this process. */
  readonly since: number;
}

/**
 * Gives lost buckets a new token and opens them when every live edge has said what it runs
 * (docs/protocol.md#r12). One replica does it, by a lease, and the others wait. That two do it at
 * once does no harm: each step is repeatable.
 */
export class Recovery {
  readonly #noticed = new Set<number>();
  readonly #restoring = new Map<number, Restoring>();
  /** Monotonic milliseconds of this process; -Infinity: a token was set since. */
  #reportedAt = -Infinity;
  #isRestorer = false;
  /**
   * The heartbeats as they were read last; null: not since a token was set. They are read again
   * when every edge that has not reported in them has sent another one.
   */
  #read: readonly LastHeartbeat[] | null = null;
  #stopped = false;
  readonly #background = every(REPORT_MS, () => this.#work(), {
    failed: (err) => this.ports.log.warn({ err, buckets: this.pending() }, 'buckets cannot be restored yet'),
  });

  constructor(
    private readonly ports: Ports,
    private readonly cache: RecordCache,
    /** Told of buckets that this replica has opened. */
    private readonly onOpened: (buckets: readonly number[]) => void = () => undefined,
  ) {}

  /**
   * Takes up buckets that were found without a token or restoring. Returns at once: whether that
   * was news.
   */
  notice(bucket: number): boolean {
    if (this.#stopped || this.#restoring.has(bucket) || this.#noticed.has(bucket)) return false;
    this.#noticed.add(bucket);
    this.#background.wake();
    return true;
  }

  /** Tries again now what could not be done. */
  goOn(): void {
    this.#background.wake();
  }

  /** Buckets that are not open yet, as far as this process knows. */
  pending(): number {
    return this.#noticed.size + this.#restoring.size;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#background.stop();
  }

  /** Resolves with the milliseconds until the next look; Infinity: when a bucket is noticed. */
  async #work(): Promise<number> {
    // A sweep notices all buckets of a lost limit store in one turn.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.pending() === 0) return Infinity;
    const asks = !this.#isRestorer || this.#noticed.size > 0 || this.#isReportDue();
    if (asks) await this.#begin();
    if (this.#isRestorer) await this.#advance(asks);
    return this.pending() === 0 ? Infinity : this.#pauseMs();
  }

  /**
   * Sets a token where there is none; takes over what another replica began, has finished, or had
   * to begin anew. Edges must never be told a token that another one has followed.
   */
  async #begin(): Promise<void> {
    const found = this.#noticed.size;
    const buckets = [...this.#noticed, ...this.#restoring.keys()];
    const { limitStore, edges, replica, log } = this.ports;
    // Without the bus nothing can be restored, and nobody must be kept from it.
    const listens = edges.listens();
    const calls = buckets.map((bucket) => restoreCall(bucket, limitStore.newEpoch()));
    const leaseArgs = inOrder('LEASE', { replica, leaseMs: LEASE_MS });
    if (listens) calls.push({ script: 'lease', keys: [RESTORER_KEY], args: leaseArgs });
    const replies = await limitStore.run(calls);
    this.#isRestorer = listens && replyOf(replies.at(-1))[0] === 'mine';
    for (const [index, bucket] of buckets.entries()) {
      const reply = replyOf(replies[index]);
      this.#noticed.delete(bucket);
      if (reply[0] === 'restoring') this.#follow(bucket, reply);
      else this.#restoring.delete(bucket);
    }
    if (found > 0) log.info({ buckets: found }, 'buckets are being restored');
  }

  /** A bucket that another replica began to restore has waited already. */
  #follow(bucket: number, [, now, token = '', begunAt]: ScriptReply): void {
    if (this.#restoring.get(bucket)?.token === token) return;
    const waitedMs = Math.max(0, Number(now) - Number(begunAt));
    this.#restoring.set(bucket, { token, since: this.ports.clock.monotonic() - waitedMs });
    this.#reportedAt = -Infinity;
    this.#read = null;
  }

  /** @param asks the tokens have just been looked at, so that edges may be told them */
  async #advance(asks: boolean): Promise<void> {
    if (this.#restoring.size === 0) return;
    const { edges, clock, durations } = this.ports;
    if (asks && this.#isReportDue()) this.#report();
    if (!(await this.#isWorthReading())) return;
    const heartbeats = lastHeartbeats(await edges.lastHeartbeats());
    this.#read = heartbeats;
    const now = silenceClock(heartbeats, clock.wall());
    const live = heartbeats.filter((heartbeat) => isLive(heartbeat, now));
    const ready = [...this.#restoring].filter(
      ([bucket, one]) => this.#hasWaited(one) || live.every((heartbeat) => hasReported(heartbeat, bucket, one.token)),
    );
    const notGone = heartbeats.filter((heartbeat) => !isGone(heartbeat, now, durations.expiryMs));
    if (ready.length > 0) await this.#open(new Map(ready), notGone);
  }

  /** Whether what edges have sent since the last reading may open a bucket. */
  async #isWorthReading(): Promise<boolean> {
    if (this.#read === null || [...this.#restoring.values()].some((one) => this.#hasWaited(one))) return true;
    const read = new Map(this.#read.map((heartbeat) => [heartbeat.edge, heartbeat]));
    const newest = newestMarks(await this.ports.edges.heartbeatMarks());
    const now = silenceClock(newest.values(), this.ports.clock.wall());
    return [...newest.values()].every((mark) => {
      const known = read.get(mark.edge);
      if (!isLive(mark, now) || known === undefined || mark.sequence > known.sequence) return true;
      return [...this.#restoring].every(([bucket, { token }]) => hasReported(known, bucket, token));
    });
  }

  #hasWaited({ since }: Restoring): boolean {
    return this.ports.clock.monotonic() - since > WAIT_MAX_MS;
  }

  #isReportDue(): boolean {
    return this.ports.clock.monotonic() - this.#reportedAt >= REPORT_MS;
  }

  #report(): void {
    this.#reportedAt = this.ports.clock.monotonic();
    this.ports.edges.report(Array.from(this.#restoring, ([bucket, { token }]) => ({ bucket, token })));
  }

  /**
   * Holds what all edges run, dead ones too, then opens. Of an edge that is gone nothing is held:
   * an account admits nothing before billing has settled everything that was stored.
   */
  async #open(ready: ReadonlyMap<number, Restoring>, heartbeats: readonly LastHeartbeat[]): Promise<void> {
    const failed = new Set<number>();
    for (const heartbeat of heartbeats) {
      const calls = heartbeat.calls.filter(({ account, full }) => full !== null && ready.has(bucketOfAccount(account)));
      const held = await holdCalls(this.ports, heartbeat.edge, calls, true);
      for (const bucket of held.failed) failed.add(bucket);
      const releases = heartbeat.releases.filter(
        (release) => !release.blind && ready.has(bucketOfAccount(release.hold.account)),
      );
      await applyReleases(this.ports, this.cache, releases, (bucket) => failed.add(bucket));
    }
    const whole = [...ready].filter(([bucket]) => !failed.has(bucket));
    const replies = await this.ports.limitStore.run(whole.map(([bucket, { token }]) => openCall(bucket, token)));
    const opened: number[] = [];
    for (const [index, [bucket, { token }]] of whole.entries()) {
      const reply = replies[index];
      if (reply === undefined || reply instanceof AdmissionFault) continue;
      this.#restoring.delete(bucket);
      // Lost again, or restored anew by another replica under another token, or another server's:
      // from the beginning.
      if (reply[0] === 'open' && reply[2] === token) opened.push(bucket);
      else this.#noticed.add(bucket);
    }
    bucketsOpened.add(opened.length);
    this.onOpened(opened);
    if (this.pending() === 0) this.ports.log.info({ buckets: whole.length }, 'all buckets are open');
  }

  #pauseMs(): number {
    if (!this.#isRestorer) return REPORT_MS;
    const passed = this.ports.clock.monotonic() - this.#reportedAt;
    return passed < REPORT_MS ? Math.min(Math.max(passed, LOOK_FIRST_MS), REPORT_MS - passed) : REPORT_MS;
  }
}

/** @throws AdmissionFault when there is none */
function replyOf(reply: ScriptReply | AdmissionFault | undefined): ScriptReply {
  if (reply === undefined || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
  return reply;
}

export const bucketsOpened = counter('gateway_admission_buckets_opened_total', 'Buckets that were restored and opened');
