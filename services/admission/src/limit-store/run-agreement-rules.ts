import { isLater } from '@gateway/contracts/ids';
import type { RedisRun } from '@gateway/contracts/messages';
import { EpochHistory, type ReplicaRun } from './epoch-rules.js';
import type { ScriptName, ScriptReply } from './script-rules.js';

/**
 * Scripts whose replies are recorded and count only while their server is in use. They return the
 * epoch of their bucket; `due` returns the newest epoch of all buckets. Edges discard replies of
 * the other scripts by their epoch.
 */
const EPOCH_SCRIPTS: ReadonlySet<ScriptName> = new Set(['due', 'sweep', 'set-epoch', 'apply']);
/** Index of the bucket's epoch in a reply, if present. */
const EPOCH_AT = 2;

/** Interval of reports to an edge that knows only an earlier run. A report reaches all edges. */
const PUBLISH_MS = 1_000;
/** Interval of reports to a replica with an earlier run, which reports at each handshake. */
const ANSWER_MS = 200;

/** The other replicas of admission, reached over the bus. */
export interface OtherReplicas {
  /** Reports a run to the other replicas. Edges receive the report too. */
  publish(run: ReplicaRun): void;
  /** Whether the bus is available, according to a response of its stream. */
  areReachable(): Promise<boolean>;
}

/**
 * Decides which run of Redis a replica uses. Based on the epochs that it reads, those that edges
 * and other replicas quote, and the reports of the replicas (docs/protocol.md#r12).
 */
export class RunAgreement {
  readonly #epochs = new EpochHistory();
  readonly #superseded = new SupersededRun();
  #others: OtherReplicas = { publish: () => undefined, areReachable: () => Promise.resolve(false) };
  #isUsed = false;
  #publishedAt = -Infinity;

  /** @param monotonic milliseconds that never go back */
  constructor(private readonly monotonic: () => number) {}

  setOthers(others: OtherReplicas): void {
    this.#others = others;
  }

  /**
   * A server is connected.
   * @param epochs of all its buckets
   * @returns whether it may be used: no later run is known
   */
  connected(runId: string, epochs: readonly string[]): boolean {
    this.#isUsed = false;
    this.#epochs.begin(runId, epochs);
    const isSuperseded = this.#epochs.isSuperseded();
    if (isSuperseded) this.publish();
    return !isSuperseded;
  }

  /**
   * Whether the connected server may be used with new epochs although a later run is known, because
   * no replica uses the later run. Must be called at each connection.
   */
  async mayBeginAnew(): Promise<boolean> {
    const isReachable = await this.#others.areReachable();
    return this.#superseded.mayBeUsed(this.#epochs.connected().id, this.monotonic(), isReachable);
  }

  /** Marks the connected server as used. */
  used(): void {
    this.#superseded.otherIsUsed();
    this.#isUsed = true;
    this.publish();
  }

  /** The connection has ended. */
  lost(): void {
    this.#isUsed = false;
  }

  /** Returns a time for a new epoch, epoch ms, later than all known epochs. */
  nextTime(nowMs: number): number {
    return this.#epochs.nextTime(nowMs);
  }

  /**
   * Processes a script reply of the connected server.
   * @returns whether the used server is superseded and its connection must be closed
   */
  answered(script: ScriptName, reply: ScriptReply): boolean {
    return EPOCH_SCRIPTS.has(script) && this.observe([reply[EPOCH_AT] ?? '']);
  }

  /** Whether a reply counts even if the server's connection was closed in the meantime. */
  countsAfterwards(script: ScriptName): boolean {
    return !EPOCH_SCRIPTS.has(script);
  }

  /**
   * Processes epochs that the connected server returns or that edges and other replicas quote.
   * Reports the used run to an edge that knows only an earlier run.
   * @param run the latest run that the edge knows
   * @returns whether the used server is superseded and its connection must be closed
   */
  observe(epochs: readonly string[], run?: RedisRun): boolean {
    for (const epoch of epochs) this.#epochs.observe(epoch);
    if (run !== undefined) this.#epochs.observeRun(run);
    if (this.#mustBeGivenUp()) return true;
    const isCurrent = run === undefined || !this.#isUsed || !this.#epochs.supersedes(run);
    if (!isCurrent) this.#publishAgain(PUBLISH_MS);
    return false;
  }

  /**
   * Processes the report of another replica about the run that it uses or is connected to. Replies
   * if a later run is in use here.
   * @returns whether the used server is superseded and its connection must be closed
   */
  observeRun(run: ReplicaRun): boolean {
    if (this.#isUsed && this.#epochs.supersedes(run)) this.#publishAgain(run.isUsed ? 0 : ANSWER_MS);
    if (!run.isUsed) return false;
    if (isLater(run, this.#epochs.connected())) this.#superseded.otherIsUsed();
    this.#epochs.observeRun(run);
    return this.#mustBeGivenUp();
  }

  /** Reports the used or connected run. Replicas that use a later one reply with theirs. */
  publish(): void {
    const own = this.#epochs.connected();
    if (own.setAt === 0) return;
    this.#publishedAt = this.monotonic();
    this.#others.publish({ ...own, isUsed: this.#isUsed });
  }

  #publishAgain(afterMs: number): void {
    if (this.monotonic() - this.#publishedAt >= afterMs) this.publish();
  }

  #mustBeGivenUp(): boolean {
    return this.#isUsed && this.#epochs.isSuperseded();
  }
}

/** During this time no replica may have reported that it uses another run. */
const UNUSED_MS = 2_000;
/** After a longer pause between two requests the time starts again. */
const PAUSE_MS_MAX = 5_000;

/**
 * Decides whether a server may be used although the epochs of another run are later than its own:
 * when the replica's connection always leads to it and no replica uses the other run
 * (docs/protocol.md#r12). If two servers both decided for a moment, they may have received their
 * epochs in the wrong order. Times are monotonic milliseconds.
 */
export class SupersededRun {
  #runId = '';
  #since = 0;
  #askedAt = -Infinity;

  /**
   * Called after the other replicas were queried, because the connection leads to this run.
   * @param isReachable the bus has responded since, so replicas could report another run
   * @returns whether the run may be used
   */
  mayBeUsed(runId: string, now: number, isReachable: boolean): boolean {
    if (!isReachable || runId !== this.#runId || now - this.#askedAt > PAUSE_MS_MAX) this.#since = now;
    this.#runId = runId;
    this.#askedAt = now;
    return now - this.#since >= UNUSED_MS;
  }

  /** Restarts the time, because this or another replica uses another run. */
  otherIsUsed(): void {
    this.#askedAt = -Infinity;
  }
}
