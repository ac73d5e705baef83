import type { BatchAnswer, ReceivedOf, admissionBatch } from '@gateway/contracts/messages';
import { ThrottledLog } from '@gateway/service-kit';
import {
  type BlindRelease,
  type PendingRelease,
  applyUnknownRelease,
  prepareReleases,
  readReleases,
} from '../apply/apply-releases.js';
import { buildDecisionCall, readAdmitReply } from './admit-script.js';
import type { PreparedCall } from './prepare-call-rules.js';
import type { ScriptCall, ScriptReply } from '../limit-store/script-rules.js';
import type { DecisionContext } from '../records/load-account.js';
import type { KeyReference } from '../records/record-cache.js';
import { AdmissionFault } from '../ports.js';
import { batchEntries, pipelineSeconds } from '../metrics.js';
import { type BatchReply, BatchRun } from './batch-run.js';
import { decideEntry, updateCache } from './decide-entry.js';
import { type Entry, toAnswer, prepareEntry, buildTarget } from './entry.js';

export type Batch = ReceivedOf<typeof admissionBatch>;

/**
 * Maximum number of entries that wait for a decision in this process. A further entry gets a fault,
 * because a queued entry must not wait longer than its caller does.
 */
export const ENTRIES_IN_FLIGHT_MAX = 4_096;

/** An entry with cached key reference, records and price, which the batch's pipeline can decide. */
interface CachedEntry {
  readonly entry: Entry;
  readonly keyReference: KeyReference;
  readonly prepared: PreparedCall;
  readonly call: ScriptCall;
}

/**
 * Decides the batches of the edges. All entries whose records are cached go into one pipeline and
 * are answered together. Each other entry is answered as soon as its records are loaded.
 */
export class BatchHandler {
  #inFlight = 0;
  readonly #undecided: ThrottledLog;

  constructor(private readonly decider: DecisionContext) {
    this.#undecided = new ThrottledLog(decider.ports.log, 'calls cannot be decided and are answered 500');
  }

  /** Number of entries that are waiting for a decision. */
  inFlight(): number {
    return this.#inFlight;
  }

  async handle(batch: Batch, reply: BatchReply): Promise<void> {
    const entries = toEntries(batch);
    batchEntries.observe(entries.length + batch.releases.length);
    const batchRun = new BatchRun(this.decider.ports, reply, entries, this.#undecided);
    const barred = this.#barred(entries.length);
    if (barred !== null) {
      batchRun.reply(
        entries.map((entry) => batchRun.fault(entry, barred)),
        [],
      );
    }
    const accepted = barred === null ? entries : [];
    const { pending, unknown } = prepareReleases(batch.releases, this.decider.cache);
    this.#inFlight += accepted.length;
    try {
      await Promise.all([this.#decide(accepted, pending, batchRun), this.#releaseUnknown(unknown, batchRun)]);
    } finally {
      this.#inFlight -= accepted.length;
    }
  }

  async #decide(entries: readonly Entry[], releases: readonly PendingRelease[], batchRun: BatchRun): Promise<void> {
    const warm: CachedEntry[] = [];
    const cold: Entry[] = [];
    const answers: BatchAnswer[] = [];
    for (const entry of entries) {
      try {
        const warmEntry = prepareCachedEntry(this.decider, entry);
        if (warmEntry === null) cold.push(entry);
        else warm.push(warmEntry);
      } catch (error) {
        answers.push(batchRun.fault(entry, error));
      }
    }
    const later = cold.map((entry) => this.#decideLoading(entry, batchRun));
    later.push(...(await this.#decideCached(warm, releases, answers, batchRun)));
    await Promise.all(later);
  }

  /**
   * Runs one pipeline and sends one reply. Releases come first, so that a freed slot is available
   * to the next call. Returns the work on entries for which the scripts found something missing.
   */
  async #decideCached(
    warm: readonly CachedEntry[],
    releases: readonly PendingRelease[],
    answers: BatchAnswer[],
    batchRun: BatchRun,
  ): Promise<Promise<void>[]> {
    const { decider } = this;
    const spans = batchRun.beginScripts(warm);
    const replies = await runScripts(
      decider,
      [...releases, ...warm].map(({ call }) => call),
      batchRun,
    );
    for (const span of spans ?? []) span.end();
    const lacking: Promise<void>[] = [];
    for (const [index, warmEntry] of warm.entries()) {
      const answer = readAnswer(decider, warmEntry, replies[releases.length + index], batchRun);
      if (answer === null) lacking.push(this.#decideLoading(warmEntry.entry, batchRun));
      else answers.push(answer);
    }
    const released = await readReleases(decider.ports, releases, replies, decider.noticeLoss);
    if (answers.length > 0 || released.length > 0) batchRun.reply(answers, released);
    return lacking;
  }

  async #decideLoading(entry: Entry, batchRun: BatchRun): Promise<void> {
    let answer: BatchAnswer;
    try {
      const decided = await batchRun.within(decideEntry(this.decider, entry, batchRun));
      answer = batchRun.finish(entry, decided);
    } catch (error) {
      answer = batchRun.fault(entry, error);
    }
    batchRun.reply([answer], []);
  }

  /** Applies blind releases whose account this process does not know. */
  async #releaseUnknown(releases: readonly BlindRelease[], batchRun: BatchRun): Promise<void> {
    const { ports, cache, noticeLoss } = this.decider;
    for (const release of releases) {
      const id = await applyUnknownRelease(ports, cache, release, noticeLoss);
      if (id !== null) batchRun.reply([], [id]);
    }
  }

  /** Returns the fault that applies to all entries of the batch, or null. */
  #barred(entries: number): AdmissionFault | null {
    const { limitStore, backPressure } = this.decider.ports;
    if (entries === 0) return null;
    if (this.#inFlight + entries > ENTRIES_IN_FLIGHT_MAX) return new AdmissionFault('admission_error', 'overloaded');
    if (!limitStore.usable()) return new AdmissionFault('admission_error', 'redis is not connected');
    const backPressureReason = backPressure.engaged();
    return backPressureReason === null ? null : new AdmissionFault('admission_error', backPressureReason);
  }
}

function toEntries(batch: Batch): Entry[] {
  return [
    ...batch.opens.map((body): Entry => ({ kind: 'open', edge: batch.edge, body })),
    ...batch.admits.map((body): Entry => ({ kind: 'admit', edge: batch.edge, body })),
  ];
}

/** Returns null when the key reference or the records are not cached. */
function prepareCachedEntry(decider: DecisionContext, entry: Entry): CachedEntry | null {
  const keyReference = decider.cache.keyReference(entry.body.digests);
  const account = keyReference && decider.cache.account(keyReference);
  if (!keyReference || !account) return null;
  const prepared = prepareEntry(decider.ports, entry, account);
  return {
    entry,
    keyReference,
    prepared,
    call: buildDecisionCall(buildTarget(decider.ports, entry, keyReference), prepared),
  };
}

/**
 * Returns the finished answer, or null if something is missing and the entry must be decided alone.
 */
function readAnswer(
  decider: DecisionContext,
  { entry, keyReference, prepared }: CachedEntry,
  reply: ScriptReply | AdmissionFault | undefined,
  batchRun: BatchRun,
): BatchAnswer | null {
  try {
    if (reply === undefined || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
    const outcome = readAdmitReply(reply, keyReference, prepared);
    updateCache(decider, keyReference, outcome);
    const answer = toAnswer(decider.ports, entry, keyReference, prepared, outcome);
    if (answer === null) return null;
    decider.refused.note(keyReference, answer);
    return batchRun.finish(entry, answer);
  } catch (error) {
    return batchRun.fault(entry, error);
  }
}

/** Returns the replies, or the same fault for each call. */
async function runScripts(
  { ports }: DecisionContext,
  calls: readonly ScriptCall[],
  batchRun: BatchRun,
): Promise<readonly (ScriptReply | AdmissionFault)[]> {
  if (calls.length === 0) return [];
  const startedAt = ports.clock.monotonic();
  try {
    return await batchRun.within(ports.limitStore.run(calls));
  } catch (error) {
    const fault = error instanceof AdmissionFault ? error : new AdmissionFault('admission_error', String(error));
    return calls.map(() => fault);
  } finally {
    pipelineSeconds.observe((ports.clock.monotonic() - startedAt) / 1_000);
  }
}
