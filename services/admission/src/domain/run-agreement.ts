import { EpochHistory, isLater, type RunOfRedis } from './epoch-history.js';
import { SupersededRun } from './superseded-run.js';

/** Edges of the release before quote epochs of earlier runs for long: they are told this often. */
const TELL_MS = 1_000;

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
  #toldAt = -Infinity;

  /** @param monotonic milliseconds that never go back */
  constructor(private readonly monotonic: () => number) {}

  setOthers(others: OtherReplicas): void {
    this.#others = others;
  }

  /**
   * A server is connected. The others are asked: who uses a later run says so.
   * @param epochs those of all its buckets
   * @returns whether it may be used: no later run is known
   */
  connected(runId: string, epochs: readonly string[]): boolean {
    this.#isUsed = false;
    this.#epochs.begin(runId, epochs);
    this.ask();
    return !this.#epochs.isSuperseded();
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
   * The connected server answers these epochs, or edges and other replicas quote them. Whoever
   * quotes those of an earlier run is told which one is used.
   * @returns whether the used server is superseded: it is to be given up
   */
  hear(epochs: readonly string[]): boolean {
    for (const epoch of epochs) this.#epochs.observe(epoch);
    if (this.#mustBeGivenUp()) return true;
    if (this.#isUsed && this.#epochs.areOfOthers(epochs) && this.monotonic() - this.#toldAt >= TELL_MS) this.#tell();
    return false;
  }

  /**
   * Another replica asks who uses a run that supersedes its own, or says that it uses one.
   * @returns whether the used server is superseded: it is to be given up
   */
  hearRun(run: RunOfRedis): boolean {
    if (!run.isUsed) {
      if (this.#isUsed && this.#epochs.supersedes(run)) this.#tell();
      return false;
    }
    if (isLater(run, this.#epochs.connected())) this.#superseded.otherIsUsed();
    this.#epochs.observeRun(run);
    return this.#mustBeGivenUp();
  }

  /** Who uses a later run than the connected one says so. */
  ask(): void {
    const own = this.#epochs.connected();
    if (own.setAt > 0) this.#others.tell({ ...own, isUsed: false });
  }

  #tell(): void {
    this.#toldAt = this.monotonic();
    this.#others.tell({ ...this.#epochs.connected(), isUsed: true });
  }

  #mustBeGivenUp(): boolean {
    return this.#isUsed && this.#epochs.isSuperseded();
  }
}
