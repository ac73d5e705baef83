import type { AdmitEntry, BatchAnswer, ReleaseEntry } from '@gateway/contracts/messages';
import { EphemeralMap, OnDemandTimer, type TimerClock } from '@gateway/service-kit';
import type { AdmissionBatch, AdmissionBatchReply, BusClient } from '../ports.js';
import { AccountRoom } from './account-room.js';
import type { EdgeClock } from './edge-clock.js';
import type { EpochTracker } from './epoch-tracker.js';
import type { KnownReplicas } from './known-replicas.js';
import {
  ADMISSION_FAULT,
  type AdmitOutcome,
  type BatchInFlight,
  type OpenEntry,
  type OpenOutcome,
  type Outcome,
  type PendingRequest,
  TickBatch,
  type TickEnd,
  emptyBatch,
  splitBatch,
} from './tick-batch.js';

/** Time without an answer after which the client tries another replica (docs/protocol.md#r3). */
const SILENCE_MS = 250;
/** Longest wait of a call for admission, all attempts included. */
const WAIT_MS_MAX = 2_000;
/** The client ignores an older answer, since its hold may have expired. */
const ANSWER_AGE_MS_MAX = 5_000;
/**
 * Most attempts of one request, each at another replica. The first attempt names no replica, so it
 * may reach a replica that hangs although it answered last. A single retry could reach that one
 * again.
 */
const TRIES_MAX = 4;
/** Limits of one edge. Above them, calls are answered `admission_error`. */
const QUESTIONS_MAX = 10_000;
const RELEASES_MAX = 20_000;
/** The entry waits for the end of this tick, so no silence is counted. */
const NOT_SENT = Infinity;
const NO_IDS: ReadonlySet<string> = new Set();
/** Milliseconds between two checks of the times above, and so their precision. */
export const SILENCE_SWEEP_MS = 25;

export interface AdmissionClientParts {
  readonly edge: string;
  readonly bus: Pick<BusClient, 'requestAdmission'>;
  readonly tickEnd: TickEnd;
  readonly clock: EdgeClock;
  readonly epochs: EpochTracker;
  readonly replicas: KnownReplicas;
  readonly timers: TimerClock;
  /** Returns false while usage events wait too long to be stored. */
  readonly mayAdmit: () => boolean;
}

/**
 * Sends the requests of calls to admission. The requests of one tick of the event loop are sent in
 * one message, and answers are matched by ID (docs/protocol.md#r1 and docs/protocol.md#r3).
 * Heartbeats repeat a release until it is answered.
 */
export class AdmissionClient {
  readonly #parts: AdmissionClientParts;
  readonly #waitMs: number;
  readonly #answerAgeMs: number;
  readonly #questions = new EphemeralMap<string, PendingRequest>();
  readonly #room = new AccountRoom();
  readonly #releases = new UnansweredReleases(this.#room);
  readonly #batch: TickBatch;
  readonly #timer: OnDemandTimer;

  constructor(parts: AdmissionClientParts) {
    this.#parts = parts;
    const { timers } = parts;
    this.#waitMs = timers.timeoutMs(WAIT_MS_MAX);
    this.#answerAgeMs = timers.timeoutMs(ANSWER_AGE_MS_MAX);
    const waits = (): boolean => this.#questions.size + this.#releases.size > 0;
    this.#timer = new OnDemandTimer(SILENCE_SWEEP_MS, waits, () => this.#sweep(), timers);
    this.#batch = new TickBatch(parts.edge, parts.tickEnd, (batch) => this.#send(batch, undefined));
  }

  /** Checks the refusals up to `rate_limited` before the body is read. */
  open(entry: OpenEntry): Promise<OpenOutcome> {
    return this.#ask(entry, false, false) as Promise<OpenOutcome>;
  }

  /** Requests an admission. `holds`: the endpoint is billed, so it takes a slot and a hold. */
  admit(entry: AdmitEntry, holds: boolean): Promise<AdmitOutcome> {
    return this.#ask(entry, true, holds) as Promise<AdmitOutcome>;
  }

  /**
   * Sends the release in this tick's message and keeps it until it is answered.
   * @param mayWait no response waits for it: the next message or the next sweep sends it
   */
  release(entry: ReleaseEntry, answered: (() => void) | null, mayWait = false): void {
    this.#releases.add(entry, answered);
    this.#batch.release(entry, mayWait);
    if (mayWait) this.#timer.begin();
  }

  /**
   * Returns whether the account's next call, sent immediately after the response, could be refused
   * because of the hold of the call that has just ended (docs/protocol.md#r4).
   * @param roomLeft `roomLeft` of that call's admission
   */
  mayMeetOwnHold(account: string, roomLeft: number): boolean {
    return !this.#room.isEnough(account, roomLeft, this.#questions.size);
  }

  /** Returns the releases without an answer. Each heartbeat repeats them. */
  unansweredReleases(): ReleaseEntry[] {
    return this.#releases.all();
  }

  releasesAnswered(ids: readonly string[]): void {
    this.#releases.answered(ids);
  }

  get releasesWaiting(): number {
    return this.#releases.size;
  }

  /** Number of accounts whose room is tracked. */
  get accountsHeld(): number {
    return this.#room.size;
  }

  get waiting(): number {
    return this.#questions.size;
  }

  /** Ends the sweep. Requests that still wait resolve to a fault. */
  stop(): void {
    this.#timer.stop();
    for (const question of this.#questions.values()) this.#giveUp(question);
  }

  #ask(entry: OpenEntry | AdmitEntry, isAdmit: boolean, holds: boolean): Promise<Outcome> {
    const isFull = this.#questions.size >= QUESTIONS_MAX || this.#releases.size >= RELEASES_MAX;
    if (isFull || !this.#parts.mayAdmit()) return Promise.resolve(ADMISSION_FAULT);
    return new Promise((resolve) => {
      const now = this.#parts.timers.monotonicMs();
      const question: PendingRequest = {
        entry,
        isAdmit,
        holds,
        askedAt: now,
        resolve,
        sentAt: NOT_SENT,
        tries: 0,
        asked: [],
        mayHaveArrived: false,
        message: null,
      };
      this.#questions.set(entry.id, question);
      this.#timer.begin();
      this.#enqueue(question);
    });
  }

  #enqueue(question: PendingRequest): void {
    question.sentAt = NOT_SENT;
    if (question.isAdmit) this.#batch.admit(question.entry as AdmitEntry);
    else this.#batch.open(question.entry);
  }

  #send(batch: AdmissionBatch, replica: string | undefined): void {
    const now = this.#parts.timers.monotonicMs();
    const message: BatchInFlight = {
      sentAt: now,
      unanswered: batch.opens.length + batch.admits.length + batch.releases.length,
      opened: batch.opens.length === 0 ? NO_IDS : new Set(batch.opens.map(({ id }) => id)),
      close: () => undefined,
    };
    const noteSent = (id: string): void => {
      const question = this.#questions.get(id);
      if (question === undefined) return;
      question.message = message;
      if (replica !== undefined) question.asked.push(replica);
      question.sentAt = now;
      question.tries += 1;
    };
    for (const { id } of batch.opens) noteSent(id);
    for (const { id } of batch.admits) noteSent(id);
    const handle = this.#parts.bus.requestAdmission(
      batch,
      {
        answer: (answer) => this.#answered(message, answer),
        fault: (code) => this.#faulted(message, batch, code, replica),
      },
      { replica, timeoutMs: this.#waitMs },
    );
    message.close = () => handle.close();
  }

  #answered(message: BatchInFlight, answer: AdmissionBatchReply): void {
    const now = this.#parts.timers.monotonicMs();
    this.#parts.clock.correct(answer.now, now - message.sentAt);
    this.#parts.replicas.record(answer.replica, now);
    message.unanswered -= answer.answers.length + answer.released.length;
    if (message.unanswered <= 0) message.close();
    for (const one of answer.answers) this.#resolveOne(message, one, now);
    this.#releases.answered(answer.released);
  }

  /** Resolves one request. Ignores late answers, whose caller has already sent a release. */
  #resolveOne(message: BatchInFlight, answer: BatchAnswer, now: number): void {
    const question = this.#questions.get(answer.id);
    if (question === undefined) return;
    // A late answer to another attempt of the preceding *open* says nothing about the admission,
    // whose answer is still to come.
    if (question.isAdmit && message.opened.has(answer.id)) return;
    switch (answer.kind) {
      case 'admitted':
      case 'opened':
        if (!this.#parts.epochs.observe(answer.bucket, answer.epoch, message.sentAt)) return this.#askAgain(question);
        if (answer.kind === 'admitted' && answer.hold !== null) this.#room.taken(answer.hold, answer.roomLeft ?? 0);
        if (now - question.askedAt > this.#answerAgeMs) return this.#declineLate(question, answer);
        return this.#close(question, answer);
      case 'refused':
        return this.#decline(question, { kind: 'refused', code: answer.code, facts: answer.facts });
      case 'gone':
        return this.#close(question, ADMISSION_FAULT);
      case 'fault':
        return this.#decline(question, { kind: 'fault', code: answer.code }, answer.mayHold);
    }
  }

  /**
   * Resolves a call that is not admitted. Another attempt of it may still be admitted later, when
   * slots are free again; a blind release (one that names no hold) undoes that.
   * @param mayHold whether this attempt may have a hold, because its decision was begun and its
   * answer was lost
   */
  #decline(question: PendingRequest, outcome: Outcome, mayHold = false): void {
    this.#close(question, outcome);
    if (question.holds && (mayHold || question.tries > 1)) this.#releaseBlind(question);
  }

  #askAgain(question: PendingRequest): void {
    if (question.tries >= TRIES_MAX) return this.#giveUp(question);
    this.#enqueue(question);
  }

  #declineLate(question: PendingRequest, answer: Extract<BatchAnswer, { kind: 'admitted' | 'opened' }>): void {
    this.#close(question, ADMISSION_FAULT);
    if (answer.kind !== 'admitted' || answer.hold === null) return;
    const { id, hold, epoch: callEpoch } = answer;
    this.release({ blind: false, id, hold, callEpoch, outcome: 'void', amountNanoUsd: 0 }, null);
  }

  #faulted(message: BatchInFlight, batch: AdmissionBatch, code: string, replica: string | undefined): void {
    const isUnserved = code === 'no_responders';
    const asked = [...batch.opens, ...batch.admits]
      .map(({ id }) => this.#questions.get(id))
      .filter((question) => question?.message === message);
    for (const question of asked) {
      if (question === undefined) continue;
      question.message = null;
      // No replica received the message, so it does not count as an attempt.
      if (isUnserved) question.tries -= 1;
      else question.mayHaveArrived = true;
      if (code === 'disconnected' || question.tries >= TRIES_MAX) this.#giveUp(question);
    }
    if (isUnserved && replica !== undefined) this.#goOnWithout(replica, batch);
  }

  /**
   * Sends the requests without naming a replica, after the named one has left. If no replica
   * receives that message either, there may be a gap between two replicas. The client then retries
   * after each silence until the call's time is over.
   */
  #goOnWithout(replica: string, batch: AdmissionBatch): void {
    this.#parts.replicas.forget(replica);
    const waits = ({ id }: { id: string }): boolean => this.#questions.get(id)?.message === null;
    const rest = { ...batch, opens: batch.opens.filter(waits), admits: batch.admits.filter(waits) };
    if (rest.opens.length + rest.admits.length > 0) this.#send(rest, undefined);
  }

  #sweep(): void {
    this.#batch.flush();
    const now = this.#parts.timers.monotonicMs();
    const retries = new Map<string | undefined, AdmissionBatch>();
    for (const question of this.#questions.values()) {
      if (now - question.askedAt >= this.#waitMs) this.#giveUp(question);
      else if (isSilent(question, now)) this.#collectRetry(question, retries);
    }
    for (const [replica, batch] of retries) {
      for (const part of splitBatch(batch)) this.#send(part, replica);
    }
  }

  #collectRetry(question: PendingRequest, retries: Map<string | undefined, AdmissionBatch>): void {
    if (question.message !== null) question.mayHaveArrived = true;
    const replica = this.#parts.replicas.other(question.asked, this.#parts.timers.monotonicMs());
    let batch = retries.get(replica);
    if (batch === undefined) retries.set(replica, (batch = emptyBatch(this.#parts.edge)));
    if (question.isAdmit) batch.admits.push(question.entry as AdmitEntry);
    else batch.opens.push(question.entry);
  }

  #giveUp(question: PendingRequest): void {
    const mayHold = question.holds && (question.mayHaveArrived || question.message !== null);
    this.#close(question, ADMISSION_FAULT);
    if (mayHold) this.#releaseBlind(question);
  }

  #releaseBlind({ entry: { id, digests } }: PendingRequest): void {
    this.release({ blind: true, id, digests }, null);
  }

  #close(question: PendingRequest, outcome: Outcome): void {
    this.#questions.delete(question.entry.id);
    question.resolve(outcome);
  }
}

function isSilent({ tries, sentAt }: PendingRequest, now: number): boolean {
  return tries < TRIES_MAX && now - sentAt >= SILENCE_MS;
}

interface Pending {
  readonly entry: ReleaseEntry;
  readonly answered: (() => void) | null;
}

/** Releases that admission has not confirmed. Only its answer shows that a hold was released. */
export class UnansweredReleases {
  readonly #pending = new EphemeralMap<string, Pending>();
  readonly #room: AccountRoom;

  constructor(room: AccountRoom) {
    this.#room = room;
  }

  get size(): number {
    return this.#pending.size;
  }

  add(entry: ReleaseEntry, answered: (() => void) | null): void {
    this.#pending.set(entry.id, { entry, answered });
  }

  /** Calls each callback once. Ignores unknown IDs. */
  answered(ids: readonly string[]): void {
    for (const id of ids) {
      const pending = this.#pending.get(id);
      if (pending === undefined) continue;
      this.#pending.delete(id);
      if (!pending.entry.blind) this.#room.givenBack(pending.entry.hold);
      pending.answered?.();
    }
  }

  all(): ReleaseEntry[] {
    return Array.from(this.#pending.values(), ({ entry }) => entry);
  }
}
