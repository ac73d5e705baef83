import type { CatalogSource } from '@gateway/contracts/messages';
import type { AttemptResult } from '../errors/judge-attempt.js';
import type { Deadline, Deadlines } from './deadlines.js';

export type Limit = Extract<AttemptResult, { kind: 'timed_out' }>['limit'];

export interface LimitFacts {
  readonly source: CatalogSource['limits'];
  /** Monotonic end of the call's time to the response head, of a plain answer to its end. */
  readonly deadlineAtMs: number;
  /**
   * Longest silence inside an answer, where the source states none; longest pause of a client that
   * does not read.
   */
  readonly silenceMs: number;
  readonly expired: (limit: Limit) => void;
  /** What was thrown when a limit expired. */
  readonly failed: (err: unknown) => void;
}

/**
 * The time limits of one attempt (docs/behaviour.md#times): one at a time is set, each replaces the
 * one before.
 */
export class AttemptLimits {
  readonly #deadlines: Deadlines;
  readonly #facts: LimitFacts;
  readonly #startedAt: number;
  #heardAt: number;
  #deadline: Deadline | null = null;
  /** Set when the client has left. */
  #readOn: { readonly untilMs: number; readonly over: () => void } | null = null;

  constructor(deadlines: Deadlines, facts: LimitFacts) {
    this.#deadlines = deadlines;
    this.#facts = facts;
    this.#startedAt = this.#heardAt = deadlines.nowMs();
  }

  /** While a credential is waited for: so long, and no longer than the head may take. */
  watchCredential(ms: number, gaveUp: () => void): void {
    const { source, deadlineAtMs } = this.#facts;
    const ownMs = Math.min(ms, source.headersTimeoutMs ?? Infinity);
    this.#set(Math.min(this.#startedAt + ownMs, deadlineAtMs), gaveUp);
  }

  /** The source's own limit on its head, or the call's deadline, whichever is first. */
  watchHead(): void {
    const { source, deadlineAtMs } = this.#facts;
    const ownAtMs = source.headersTimeoutMs === null ? Infinity : this.#startedAt + source.headersTimeoutMs;
    if (ownAtMs < deadlineAtMs) this.#watch(ownAtMs, () => this.#expired('headers'));
    else this.watchDeadline();
  }

  /** From the head of a plain answer on: the call's deadline, to the end of the body. */
  watchDeadline(): void {
    this.#watch(this.#facts.deadlineAtMs, () => this.#expired('deadline'));
  }

  /**
   * From the head of a stream to its first event. The source's own limit runs from the start of the
   * attempt. Without one the call's deadline ends it, whatever else is heard: comments are no
   * answer.
   */
  watchFirstEvent(): void {
    const { source, deadlineAtMs } = this.#facts;
    const ownAtMs = source.firstEventTimeoutMs === null ? Infinity : this.#startedAt + source.firstEventTimeoutMs;
    if (ownAtMs < deadlineAtMs) return this.#watch(ownAtMs, () => this.#expired('first_event'));
    this.#watchSilence(deadlineAtMs);
  }

  /** From the first event of a stream on. */
  watchSilence(): void {
    this.#watchSilence(Infinity);
  }

  /**
   * Looks again when something was heard meanwhile: hearing costs no more than to note the time.
   */
  #watchSilence(untilMs: number): void {
    const { source, silenceMs } = this.#facts;
    const limitMs = source.silenceTimeoutMs ?? silenceMs;
    this.#watch(Math.min(this.#heardAt + limitMs, untilMs), () => {
      if (this.#deadlines.nowMs() >= untilMs) this.#expired('deadline');
      else if (this.#deadlines.nowMs() - this.#heardAt < limitMs) this.#watchSilence(untilMs);
      else this.#expired('silence');
    });
  }

  /**
   * While the client reads slower than the source writes: the source's silence is not its own then.
   */
  watchClient(gaveUp: () => void): void {
    this.in(this.#facts.silenceMs, gaveUp);
  }

  /**
   * The client has left. From the next watch on what is watched for keeps its limit; whichever is
   * first, that or `untilMs` (monotonic), is `over`.
   */
  readOn(untilMs: number, over: () => void): void {
    this.#readOn = { untilMs, over };
  }

  heard(): void {
    this.#heardAt = this.#deadlines.nowMs();
  }

  in(ms: number, expired: () => void): void {
    this.#set(this.#deadlines.nowMs() + ms, expired);
  }

  cancel(): void {
    this.#deadline?.cancel();
    this.#deadline = null;
  }

  /** A limit of the source or of the call. */
  #watch(atMs: number, expired: () => void): void {
    const readOn = this.#readOn;
    if (readOn !== null && readOn.untilMs < atMs) this.#set(readOn.untilMs, readOn.over);
    else this.#set(atMs, expired);
  }

  #expired(limit: Limit): void {
    if (this.#readOn === null) this.#facts.expired(limit);
    else this.#readOn.over();
  }

  #set(atMs: number, expired: () => void): void {
    this.#deadline?.cancel();
    this.#deadline = this.#deadlines.at(atMs, expired, this.#facts.failed);
  }
}
