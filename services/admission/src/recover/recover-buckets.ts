import { bucketOfAccount } from '@gateway/contracts/ids';
import { every } from '@gateway/service-kit';
import { callsByBucket, holdCalls } from '../heartbeat/hold-calls.js';
import { inOrder } from '../domain/script-positions.js';
import { bucketKeys } from '../domain/store-keys.js';
import { hasReported, lastHeartbeats } from '../domain/last-heartbeats.js';
import type { LastHeartbeat } from '../domain/last-heartbeats.js';
import type { RecordCache } from '../load/record-cache.js';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';
import { applyReleases } from '../apply/apply-releases.js';
import { bucketsOpened } from './recover-metrics.js';

/** How often edges are asked to report (docs/protocol.md#r12), and at once for every new token. */
const REPORT_MS = 300;
/**
 * How soon after a report the heartbeats are looked at; then after twice the time each, and at the
 * latest with the next report.
 */
const LOOK_FIRST_MS = 20;
/** An edge whose last heartbeat is older is not waited for. */
const LIVE_HEARTBEAT_MS = 10_000;
/** After so long a silent edge counts with its last heartbeat. */
const WAIT_MAX_MS = 12_000;

interface Restoring {
  readonly token: string;
  /** Monotonic milliseconds of this process. */
  readonly since: number;
}

/**
 * Gives lost buckets a new token and opens them when every live edge has said what it runs
 * (docs/protocol.md#r12). Any number of replicas may do it at once: each step is repeatable.
 */
export class Recovery {
  readonly #noticed = new Set<number>();
  readonly #restoring = new Map<number, Restoring>();
  /** Monotonic milliseconds of this process; -Infinity: a token was set since. */
  #reportedAt = -Infinity;
  #stopped = false;
  readonly #background = every(REPORT_MS, () => this.#work(), {
    failed: (err) => this.ports.log.warn({ err, buckets: this.pending() }, 'buckets cannot be restored yet'),
  });

  constructor(
    private readonly ports: Ports,
    private readonly cache: RecordCache,
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
    const asks = this.#noticed.size > 0 || this.#isReportDue();
    if (asks) await this.#begin();
    await this.#advance(asks);
    return this.pending() === 0 ? Infinity : this.#pauseMs();
  }

  /**
   * Sets a token where there is none; takes over what another replica began, has finished, or had
   * to begin anew. Edges must never be told a token that another one has followed.
   */
  async #begin(): Promise<void> {
    const found = this.#noticed.size;
    const buckets = [...this.#noticed, ...this.#restoring.keys()];
    const { limitStore, clock, log } = this.ports;
    const replies = await limitStore.run(
      buckets.map((bucket) => ({
        script: 'token',
        keys: [bucketKeys(bucket).token, bucketKeys(bucket).due],
        args: inOrder('TOKEN', { action: 'restore', token: limitStore.newEpoch() }),
      })),
    );
    for (const [index, bucket] of buckets.entries()) {
      const reply = replies[index];
      if (reply === undefined || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
      this.#noticed.delete(bucket);
      const token = reply[2] ?? '';
      if (reply[0] !== 'restoring') this.#restoring.delete(bucket);
      else if (this.#restoring.get(bucket)?.token !== token) {
        this.#restoring.set(bucket, { token, since: clock.monotonic() });
        this.#reportedAt = -Infinity;
      }
    }
    if (found > 0) log.info({ buckets: found }, 'buckets are being restored');
  }

  /** @param asks the tokens have just been looked at, so that edges may be told them */
  async #advance(asks: boolean): Promise<void> {
    if (this.#restoring.size === 0) return;
    const { edges, clock } = this.ports;
    if (asks && this.#isReportDue()) this.#report();
    const heartbeats = lastHeartbeats(await edges.lastHeartbeats());
    const live = heartbeats.filter(({ storedAtMs }) => clock.wall() - storedAtMs < LIVE_HEARTBEAT_MS);
    const ready = [...this.#restoring].filter(
      ([bucket, { token, since }]) =>
        clock.monotonic() - since > WAIT_MAX_MS || live.every((heartbeat) => hasReported(heartbeat, bucket, token)),
    );
    if (ready.length > 0) await this.#open(new Map(ready), heartbeats);
  }

  #isReportDue(): boolean {
    return this.ports.clock.monotonic() - this.#reportedAt >= REPORT_MS;
  }

  #report(): void {
    this.#reportedAt = this.ports.clock.monotonic();
    this.ports.edges.report(Array.from(this.#restoring, ([bucket, { token }]) => ({ bucket, token })));
  }

  /** Holds what all edges run, dead ones too, then opens. */
  async #open(ready: ReadonlyMap<number, Restoring>, heartbeats: readonly LastHeartbeat[]): Promise<void> {
    const failed = new Set<number>();
    for (const heartbeat of heartbeats) {
      const calls = [...callsByBucket(heartbeat.calls)].flatMap(([bucket, own]) => (ready.has(bucket) ? own : []));
      const held = await holdCalls(this.ports, heartbeat.edge, calls, true);
      for (const bucket of held.failed) failed.add(bucket);
      const releases = heartbeat.releases.filter(
        (release) => !release.blind && ready.has(bucketOfAccount(release.hold.account)),
      );
      await applyReleases(this.ports, this.cache, releases, (bucket) => failed.add(bucket));
    }
    const whole = [...ready].filter(([bucket]) => !failed.has(bucket));
    const replies = await this.ports.limitStore.run(
      whole.map(([bucket, { token }]) => ({
        script: 'token',
        keys: [bucketKeys(bucket).token, bucketKeys(bucket).due],
        args: inOrder('TOKEN', { action: 'open', token }),
      })),
    );
    for (const [index, [bucket]] of whole.entries()) {
      const reply = replies[index];
      if (reply === undefined || reply instanceof AdmissionFault) continue;
      this.#restoring.delete(bucket);
      // Lost again, or restored anew by another replica under another token: from the beginning.
      if (reply[0] === 'open') bucketsOpened.add();
      else this.#noticed.add(bucket);
    }
    if (this.pending() === 0) this.ports.log.info({ buckets: whole.length }, 'all buckets are open');
  }

  #pauseMs(): number {
    const passed = this.ports.clock.monotonic() - this.#reportedAt;
    return passed < REPORT_MS ? Math.min(Math.max(passed, LOOK_FIRST_MS), REPORT_MS - passed) : REPORT_MS;
  }
}
