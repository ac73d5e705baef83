import { bucketOfAccount } from '@gateway/contracts/ids';
import { type Background, counter, every } from '@gateway/service-kit';
import { applyReleases } from '../apply/apply-releases.js';
import {
  type LastHeartbeat,
  hasReported,
  isGone,
  isLive,
  findLastHeartbeats,
  findNewestPositions,
  computeSilenceTime,
} from '../heartbeats/last-heartbeats-rules.js';
import { type ScriptReply, toArguments } from '../limit-store/script-rules.js';
import { RESTORER_KEY } from '../limit-store/key-rules.js';
import { buildOpenCall, buildRestoreCall } from '../limit-store/epoch-script.js';
import { extendHolds } from '../heartbeats/extend-holds.js';
import type { RecordCache } from '../records/record-cache.js';
import { AdmissionFault, type Ports } from '../ports.js';

/**
 * Interval of resync requests to edges (docs/protocol.md#r12). A new epoch triggers one at once.
 */
const REPORT_MS = 300;
/**
 * Delay between a resync request and the first read of the heartbeats. It doubles for each further
 * read, up to the next request.
 */
const LOOK_FIRST_MS = 20;
/** The other replicas wait this long for a replica that restores and falls silent. */
const LEASE_MS = 2_000;
/** After this time the recovery uses the last heartbeat of a silent edge. */
const WAIT_MAX_MS = 12_000;

interface Restoring {
  readonly epoch: string;
  /** Monotonic milliseconds of this process. */
  readonly since: number;
}

/**
 * Gives lost buckets a new epoch and opens them when every live edge has reported its running calls
 * (docs/protocol.md#r12). One replica holds a lease for this and the others wait. It is harmless if
 * two replicas do it at the same time, because each step is repeatable.
 */
export class Recovery {
  readonly #noticed = new Set<number>();
  readonly #restoring = new Map<number, Restoring>();
  /** Monotonic milliseconds; -Infinity if an epoch was set since. */
  #reportedAt = -Infinity;
  #isRestorer = false;
  /**
   * The heartbeats at the last read; null if an epoch was set since. They are read again when every
   * edge that had not reported by then has sent another heartbeat.
   */
  #read: readonly LastHeartbeat[] | null = null;
  #stopped = false;
  readonly #background: Background;

  constructor(
    private readonly ports: Ports,
    private readonly cache: RecordCache,
    /** Called with the buckets that this replica has opened. */
    private readonly onOpened: (buckets: readonly number[]) => void = () => undefined,
  ) {
    this.#background = every(REPORT_MS, () => this.#work(), {
      clock: ports.clock.timers,
      failed: (err) => ports.log.warn({ err, buckets: this.pending() }, 'buckets cannot be restored yet'),
    });
  }

  /**
   * Adds a bucket that was found without an epoch or restoring. Returns at once, with whether the
   * bucket was new.
   */
  notice(bucket: number): boolean {
    if (this.#stopped || this.#restoring.has(bucket) || this.#noticed.has(bucket)) return false;
    this.#noticed.add(bucket);
    this.#background.wake();
    return true;
  }

  /** Retries at once. */
  goOn(): void {
    this.#background.wake();
  }

  /** Number of buckets that are not open yet, as far as this process knows. */
  pending(): number {
    return this.#noticed.size + this.#restoring.size;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#background.stop();
  }

  /** Resolves with the milliseconds until the next run; Infinity: when a bucket is noticed. */
  async #work(): Promise<number> {
    // A sweep notices all buckets of a lost limit store in one tick.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.pending() === 0) return Infinity;
    const asks = !this.#isRestorer || this.#noticed.size > 0 || this.#isReportDue();
    if (asks) await this.#begin();
    if (this.#isRestorer) await this.#advance(asks);
    return this.pending() === 0 ? Infinity : this.#pauseMs();
  }

  /**
   * Sets an epoch where there is none, and adopts the epochs that other replicas have set or
   * completed. Edges must never receive an epoch that has already been replaced.
   */
  async #begin(): Promise<void> {
    const found = this.#noticed.size;
    const buckets = [...this.#noticed, ...this.#restoring.keys()];
    const { limitStore, edges, replica, log } = this.ports;
    // Without the bus nothing can be restored, so this replica must not take the lease.
    const listens = edges.listens();
    const calls = buckets.map((bucket) => buildRestoreCall(bucket, limitStore.newEpoch()));
    const leaseArgs = toArguments('LEASE', { replica, leaseMs: LEASE_MS });
    if (listens) calls.push({ script: 'lease', keys: [RESTORER_KEY], args: leaseArgs });
    const replies = await limitStore.run(calls);
    this.#isRestorer = listens && requireReply(replies.at(-1))[0] === 'mine';
    for (const [index, bucket] of buckets.entries()) {
      const reply = requireReply(replies[index]);
      this.#noticed.delete(bucket);
      if (reply[0] === 'restoring') this.#follow(bucket, reply);
      else this.#restoring.delete(bucket);
    }
    if (found > 0) log.info({ buckets: found }, 'buckets are being restored');
  }

  /** A bucket whose restore another replica started has already waited since then. */
  #follow(bucket: number, [, now, epoch = '', begunAt]: ScriptReply): void {
    if (this.#restoring.get(bucket)?.epoch === epoch) return;
    const waitedMs = Math.max(0, Number(now) - Number(begunAt));
    this.#restoring.set(bucket, { epoch, since: this.ports.clock.monotonic() - waitedMs });
    this.#reportedAt = -Infinity;
    this.#read = null;
  }

  /** @param asks the buckets' epochs were just read from Redis, so they may be sent to the edges */
  async #advance(asks: boolean): Promise<void> {
    if (this.#restoring.size === 0) return;
    const { edges, clock, durations } = this.ports;
    if (asks && this.#isReportDue()) this.#report();
    if (!(await this.#isWorthReading())) return;
    const heartbeats = findLastHeartbeats(await edges.lastHeartbeats());
    this.#read = heartbeats;
    const now = computeSilenceTime(heartbeats, clock.wall());
    const live = heartbeats.filter((heartbeat) => isLive(heartbeat, now));
    const ready = [...this.#restoring].filter(
      ([bucket, one]) => this.#hasWaited(one) || live.every((heartbeat) => hasReported(heartbeat, bucket, one.epoch)),
    );
    const notGone = heartbeats.filter((heartbeat) => !isGone(heartbeat, now, durations.expiryMs));
    if (ready.length > 0) await this.#open(new Map(ready), notGone);
  }

  /** Whether the heartbeats since the last read may allow a bucket to open. */
  async #isWorthReading(): Promise<boolean> {
    if (this.#read === null || [...this.#restoring.values()].some((one) => this.#hasWaited(one))) return true;
    const read = new Map(this.#read.map((heartbeat) => [heartbeat.edge, heartbeat]));
    const newest = findNewestPositions(await this.ports.edges.heartbeatMarks());
    const now = computeSilenceTime(newest.values(), this.ports.clock.wall());
    return [...newest.values()].every((mark) => {
      const known = read.get(mark.edge);
      if (!isLive(mark, now) || known === undefined || mark.sequence > known.sequence) return true;
      return [...this.#restoring].every(([bucket, { epoch }]) => hasReported(known, bucket, epoch));
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
    this.ports.edges.report(Array.from(this.#restoring, ([bucket, { epoch }]) => ({ bucket, epoch })));
  }

  /**
   * Creates the holds of all edges' calls, including edges that are dead, then opens the buckets.
   * No holds are created for an edge that is gone: an account admits nothing until billing has
   * settled all stored events.
   */
  async #open(ready: ReadonlyMap<number, Restoring>, heartbeats: readonly LastHeartbeat[]): Promise<void> {
    const failed = new Set<number>();
    for (const heartbeat of heartbeats) {
      const calls = heartbeat.calls.filter(({ account, full }) => full !== null && ready.has(bucketOfAccount(account)));
      const held = await extendHolds(this.ports, heartbeat.edge, calls, true);
      for (const bucket of held.failed) failed.add(bucket);
      const releases = heartbeat.releases.filter(
        (release) => !release.blind && ready.has(bucketOfAccount(release.hold.account)),
      );
      await applyReleases(this.ports, this.cache, releases, (bucket) => failed.add(bucket));
    }
    const whole = [...ready].filter(([bucket]) => !failed.has(bucket));
    const replies = await this.ports.limitStore.run(whole.map(([bucket, { epoch }]) => buildOpenCall(bucket, epoch)));
    const opened: number[] = [];
    for (const [index, [bucket, { epoch }]] of whole.entries()) {
      const reply = replies[index];
      if (reply === undefined || reply instanceof AdmissionFault) continue;
      this.#restoring.delete(bucket);
      // The bucket was lost again, or another replica or server has given it another epoch. Its
      // recovery starts again.
      if (reply[0] === 'open' && reply[2] === epoch) opened.push(bucket);
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

/** @throws AdmissionFault when there is no reply */
function requireReply(reply: ScriptReply | AdmissionFault | undefined): ScriptReply {
  if (reply === undefined || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
  return reply;
}

export const bucketsOpened = counter('gateway_admission_buckets_opened_total', 'Buckets that were restored and opened');
