import { isLater } from '@gateway/contracts/ids';
import type { RedisRun } from '@gateway/contracts/messages';
import { EpochHistory, type RunOfRedis } from './epoch-rules.js';
import type { ScriptName, ScriptReply } from './script-rules.js';

/**
 * Scripts whose answers are heard, and count only while their server is used: they answer the epoch
 * of their bucket, or `due` the newest of all. What others answer edges void by its epoch.
 */
const HEARD_SCRIPTS: ReadonlySet<ScriptName> = new Set(['due', 'sweep', 'token', 'apply']);
/** Where a reply has its bucket's epoch, if it has one. */
const EPOCH_AT = 2;

/** An edge that knows an earlier run alone is told this often: what is told reaches all edges. */
const SAY_MS = 1_000;
/** A replica that is led to an earlier run says so with each handshake, and is told this often. */
const ANSWER_MS = 200;

/** The other replicas of admission, over the bus. */
export interface OtherReplicas {
  /** Edges hear it too. */
  tell(run: RunOfRedis): void;
  /** Whether the bus is there, by an answer of its stream. */
  areHeard(): Promise<boolean>;
}

/**
 * Which run of Redis a replica uses: by the epochs that it reads, by those that edges and other
 * replicas quote, and by what the replicas tell each other (docs/protocol.md#r12).
 */
export class RunAgreement {
  readonly #epochs = new EpochHistory();
  readonly #superseded = new SupersededRun();
  #others: OtherReplicas = { tell: () => undefined, areHeard: () => Promise.resolve(false) };
  #isUsed = false;
  #saidAt = -Infinity;

  /** @param monotonic milliseconds that never go back */
  constructor(private readonly monotonic: () => number) {}

  setOthers(others: OtherReplicas): void {
    this.#others = others;
  }

  /**
   * A server is connected.
   * @param epochs those of all its buckets
   * @returns whether it may be used: no later run is known
   */
  connected(runId: string, epochs: readonly string[]): boolean {
    this.#isUsed = false;
    this.#epochs.begin(runId, epochs);
    const isSuperseded = this.#epochs.isSuperseded();
    if (isSuperseded) this.say();
    return !isSuperseded;
  }

  /**
   * Whether the connected server may be used although a later run is known: with new epochs, for
   * nobody uses the later run. It has to be asked at each connection.
   */
  async mayBeginAnew(): Promise<boolean> {
    const isHeard = await this.#others.areHeard();
    return this.#superseded.mayBeUsed(this.#epochs.connected().id, this.monotonic(), isHeard);
  }

  /** From now on the connected server is used. */
  used(): void {
    this.#superseded.otherIsUsed();
    this.#isUsed = true;
    this.say();
  }

  /** The connection has ended. */
  lost(): void {
    this.#isUsed = false;
  }

  /** A time for a new epoch, epoch ms: later than that of each known one. */
  nextTime(nowMs: number): number {
    return this.#epochs.nextTime(nowMs);
  }

  /**
   * The connected server answers a script.
   * @returns whether the used server is superseded: it is to be given up
   */
  answered(script: ScriptName, reply: ScriptReply): boolean {
    return HEARD_SCRIPTS.has(script) && this.hear([reply[EPOCH_AT] ?? '']);
  }

  /** Whether what a server answers counts also when it has been given up meanwhile. */
  countsAfterwards(script: ScriptName): boolean {
    return !HEARD_SCRIPTS.has(script);
  }

  /**
   * The connected server answers these epochs, or edges and other replicas quote them. An edge that
   * knows an earlier run alone is told which one is used.
   * @param run the latest run that the edge knows
   * @returns whether the used server is superseded: it is to be given up
   */
  hear(epochs: readonly string[], run?: RedisRun): boolean {
    for (const epoch of epochs) this.#epochs.observe(epoch);
    if (run !== undefined) this.#epochs.observeRun(run);
    if (this.#mustBeGivenUp()) return true;
    const isTold = run === undefined || !this.#isUsed || !this.#epochs.supersedes(run);
    if (!isTold) this.#sayAgain(SAY_MS);
    return false;
  }

  /**
   * Another replica says which run it uses, or is led to. It is told of a later one that is used.
   * @returns whether the used server is superseded: it is to be given up
   */
  hearRun(run: RunOfRedis): boolean {
    if (this.#isUsed && this.#epochs.supersedes(run)) this.#sayAgain(run.isUsed ? 0 : ANSWER_MS);
    if (!run.isUsed) return false;
    if (isLater(run, this.#epochs.connected())) this.#superseded.otherIsUsed();
    this.#epochs.observeRun(run);
    return this.#mustBeGivenUp();
  }

  /** Says which run is used, or connected. Who uses a later one answers with that. */
  say(): void {
    const own = this.#epochs.connected();
    if (own.setAt === 0) return;
    this.#saidAt = this.monotonic();
    this.#others.tell({ ...own, isUsed: this.#isUsed });
  }

  #sayAgain(afterMs: number): void {
    if (this.monotonic() - this.#saidAt >= afterMs) this.say();
  }

  #mustBeGivenUp(): boolean {
    return this.#isUsed && this.#epochs.isSuperseded();
  }
}

/** For so long nobody may have said that another run of the server is used. */
const UNUSED_MS = 2_000;
/** After a longer pause between two questions the time begins anew. */
const PAUSE_MS_MAX = 5_000;

/**
 * Whether a server may be used although the epochs of another run are later than its own: when a
 * replica is led to it all the time, and nobody uses the other run (docs/protocol.md#r12). Two
 * servers that both decided for a moment may have got their epochs in the wrong order. Times are
 * monotonic milliseconds.
 */
export class SupersededRun {
  #runId = '';
  #since = 0;
  #askedAt = -Infinity;

  /**
   * The others were asked which run they use, because the connection leads to this one.
   * @param isHeard the bus has answered since: one that used another run could have said so
   * @returns whether it may be used
   */
  mayBeUsed(runId: string, now: number, isHeard: boolean): boolean {
    if (!isHeard || runId !== this.#runId || now - this.#askedAt > PAUSE_MS_MAX) this.#since = now;
    this.#runId = runId;
    this.#askedAt = now;
    return now - this.#since >= UNUSED_MS;
  }

  /** Some replica uses another run, or this one does: the time begins anew. */
  otherIsUsed(): void {
    this.#askedAt = -Infinity;
  }
}
