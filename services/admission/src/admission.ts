import type {
  AnswerBodyOf,
  BucketEpochs,
  ReceivedOf,
  RedisRun,
  admissionApply,
  admissionAuthorize,
  admissionHeld,
  admissionUsage,
  billingBalanceSnapshots,
} from '@gateway/contracts/messages';
import { SingleFlight } from '@gateway/service-kit';
import { type Batch, BatchHandler } from './admit/admit-batch.js';
import type { BatchReply } from './admit/batch-run.js';
import { applyBalanceSnapshots, applyUpdate } from './apply/apply-update.js';
import type { ReplicaRun } from './limit-store/epoch-rules.js';
import { answerHeartbeat } from './heartbeats/answer-heartbeat.js';
import { AccountLoader, type DecisionContext } from './records/load-account.js';
import { RecordCache } from './records/record-cache.js';
import type { Heartbeat, Ports } from './ports.js';
import { type AccountDump, readAccount, readHeld } from './read/read-account.js';
import { authorize } from './read/read-state.js';
import { readUsage } from './read/usage.js';
import { GoneEdgeCleanup } from './recover/forget-gone-edges.js';
import { Recovery } from './recover/recover-buckets.js';
import { Revalidation } from './revalidate/revalidation.js';
import { type SlotsAnswer, type SlotsQuestion, listSlots } from './slots/list-slots.js';
import { type ReleaseAnswer, type ReleaseQuestion, releaseSlot } from './slots/release-slot.js';
import { SweepTimer } from './sweep/sweep-timer.js';
import { KeyUses } from './uses/key-uses.js';
import { RefusedCalls } from './uses/refused-calls.js';

/** One replica of admission, independent of its message handlers. */
export class Admission {
  readonly #decider: DecisionContext;
  readonly #batches: BatchHandler;
  readonly #recovery: Recovery;
  readonly #revalidation: Revalidation;
  readonly #sweeper: SweepTimer;
  readonly #gone: GoneEdgeCleanup;
  readonly #uses: KeyUses;
  readonly #refused: RefusedCalls;

  constructor(private readonly ports: Ports) {
    const cache = new RecordCache();
    this.#uses = new KeyUses(ports);
    this.#refused = new RefusedCalls(ports);
    this.#revalidation = new Revalidation(ports);
    this.#recovery = new Recovery(ports, cache, (buckets) => this.#revalidation.opened(buckets));
    this.#gone = new GoneEdgeCleanup(ports);
    const noticeLoss = (bucket: number): void => {
      if (this.#recovery.notice(bucket)) this.#sweeper.soon();
    };
    this.#decider = {
      ports,
      cache,
      uses: this.#uses,
      refused: this.#refused,
      loader: new AccountLoader(ports),
      routing: new SingleFlight(),
      populating: new SingleFlight(),
      noticeLoss,
    };
    this.#batches = new BatchHandler(this.#decider);
    this.#sweeper = new SweepTimer(ports, (bucket) => this.#recovery.notice(bucket));
  }

  /** Starts the timers. The first sweep finds lost buckets. */
  start(): void {
    this.#sweeper.start();
    this.#gone.start();
    this.#uses.start();
    this.#refused.start();
  }

  /**
   * Called when a Redis server comes into use. Its data may be lost, so all buckets are checked.
   */
  redisInUse(): void {
    this.#sweeper.soon();
    this.#recovery.goOn();
  }

  /** Stops the background work. The bus itself waits for running message handlers. */
  async stop(): Promise<void> {
    await Promise.all([this.#sweeper.stop(), this.#recovery.stop(), this.#revalidation.stop(), this.#gone.stop()]);
    this.#uses.stop();
    this.#refused.stop();
  }

  batch(batch: Batch, reply: BatchReply): Promise<void> {
    return this.#batches.handle(batch, reply);
  }

  authorize(question: ReceivedOf<typeof admissionAuthorize>): Promise<AnswerBodyOf<typeof admissionAuthorize>> {
    return authorize(this.#decider, question);
  }

  usage(question: ReceivedOf<typeof admissionUsage>): Promise<AnswerBodyOf<typeof admissionUsage>> {
    return readUsage(this.#decider, question);
  }

  apply(update: ReceivedOf<typeof admissionApply>): Promise<void> {
    return applyUpdate(this.ports, update, this.#decider.noticeLoss);
  }

  /** @param pausesMax pauses of a snapshot while it waits for an older one that it has passed */
  applySnapshots(snapshots: ReceivedOf<typeof billingBalanceSnapshots>, pausesMax = 0): Promise<void> {
    return applyBalanceSnapshots(this.ports, snapshots, this.#decider.noticeLoss, pausesMax);
  }

  /**
   * Receives epochs that another replica has set or an edge quotes, and the latest run that the
   * edge knows. If they supersede the connected limit store, its connection is closed.
   */
  observeEpochs(epochs: BucketEpochs, run?: RedisRun): void {
    this.ports.limitStore.observe(
      epochs.map(({ epoch }) => epoch),
      run,
    );
  }

  observeRun(run: ReplicaRun): void {
    this.ports.limitStore.observeRun(run);
  }

  heartbeat(heartbeat: Heartbeat): Promise<void> {
    this.observeEpochs(heartbeat.epochs, heartbeat.run);
    return answerHeartbeat(this.ports, this.#decider.cache, heartbeat, this.#decider.noticeLoss);
  }

  slots(question: SlotsQuestion): Promise<SlotsAnswer> {
    return listSlots(this.ports, question, this.#decider.noticeLoss);
  }

  releaseSlot(question: ReleaseQuestion): Promise<ReleaseAnswer> {
    return releaseSlot(this.ports, question, this.#decider.noticeLoss);
  }

  held({ account }: ReceivedOf<typeof admissionHeld>): Promise<AnswerBodyOf<typeof admissionHeld>> {
    return readHeld(this.ports, account, this.#decider.noticeLoss);
  }

  /** Runs one sweep of all buckets now, in addition to the timer's sweeps. */
  sweep(): Promise<void> {
    return this.#sweeper.sweepNow();
  }

  /** Resolves when no kept account waits for its confirmation. For tests. */
  revalidated(): Promise<void> {
    return this.#revalidation.idle();
  }

  /** Reads the Redis data of an account, for operations and tests. */
  readAccount(account: string): Promise<AccountDump> {
    return readAccount(this.ports.limitStore, account);
  }

  /** Number of entries that are waiting for a decision. */
  inFlight(): number {
    return this.#batches.inFlight();
  }

  /** Number of buckets that this process knows to be lost or restoring. */
  bucketsPending(): number {
    return this.#recovery.pending();
  }

  /** Whether a sweep has seen all buckets at least once. */
  swept(): boolean {
    return this.#sweeper.swept();
  }
}
