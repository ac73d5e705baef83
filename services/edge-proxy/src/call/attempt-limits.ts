import type { CatalogSource } from '@gateway/contracts/messages';
import type { AttemptResult } from '../errors/judge-attempt.js';
import type { Deadline, Deadlines } from './deadlines.js';

export type Limit = Extract<AttemptResult, { kind: 'timed_out' }>['limit'];

export interface AttemptLimitOptions {
  readonly source: CatalogSource['limits'];
  /** Monotonic deadline for the response head; for a non-streamed response, for its end. */
  readonly deadlineAtMs: number;
  /**
   * Longest silence within a response if the source does not define one. Also the longest pause of
   * a client that does not read.
   */
  readonly silenceMs: number;
  readonly expired: (limit: Limit) => void;
  /** Receives the exception of a limit's handler. */
  readonly failed: (err: unknown) => void;
}

/**
 * The time limits of one attempt (docs/behaviour.md#times). Only one limit is active at a time;
 * each new one replaces the previous one.
 */
export class AttemptLimits {
  readonly #deadlines: Deadlines;
  readonly #facts: AttemptLimitOptions;
  readonly #startedAt: number;
  #heardAt: number;
  #deadline: Deadline | null = null;
  /** Set when the client has left. */
  #readOn: { readonly untilMs: number; readonly over: () => void } | null = null;

  constructor(deadlines: Deadlines, facts: AttemptLimitOptions) {
    this.#deadlines = deadlines;
    this.#facts = facts;
    this.#startedAt = this.#heardAt = deadlines.nowMs();
  }

  /** Limits the wait for a credential by `ms`, the header timeout and the call's deadline. */
  watchCredential(ms: number, gaveUp: () => void): void {
    const { source, deadlineAtMs } = this.#facts;
    const ownMs = Math.min(ms, source.headersTimeoutMs ?? Infinity);
    this.#set(Math.min(this.#startedAt + ownMs, deadlineAtMs), gaveUp);
  }

  /** Applies the source's own header timeout or the call's deadline, whichever is first. */
  watchHead(): void {
    const { source, deadlineAtMs } = this.#facts;
    const ownAtMs = source.headersTimeoutMs === null ? Infinity : this.#startedAt + source.headersTimeoutMs;
    if (ownAtMs < deadlineAtMs) this.#watch(ownAtMs, () => this.#expired('headers'));
    else this.watchDeadline();
  }

  /**
   * Applies the call's deadline from the head of a non-streamed response to the end of its body.
   */
  watchDeadline(): void {
    this.#watch(this.#facts.deadlineAtMs, () => this.#expired('deadline'));
  }

  /**
   * Applies the limit for the first event of a stream. The source's own limit runs from the start
   * of the attempt. If the source has none, the call's deadline applies, even if comments arrive.
   */
  watchFirstEvent(): void {
    const { source, deadlineAtMs } = this.#facts;
    const ownAtMs = source.firstEventTimeoutMs === null ? Infinity : this.#startedAt + source.firstEventTimeoutMs;
    if (ownAtMs < deadlineAtMs) return this.#watch(ownAtMs, () => this.#expired('first_event'));
    this.#watchSilence(deadlineAtMs);
  }

  /** Applies the silence limit from the first event of a stream. */
  watchSilence(): void {
    this.#watchSilence(Infinity);
  }

  /**
   * Checks on expiry whether data has arrived meanwhile. `heard` therefore only stores the time.
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
   * Limits the pause while the client reads slower than the source writes. The source's silence
   * limit does not apply then.
   */
  watchClient(gaveUp: () => void): void {
    this.in(this.#facts.silenceMs, gaveUp);
  }

  /**
   * Called when the client has left. Each later limit ends at `untilMs` (monotonic) at the latest.
   * When it expires, `over` is called.
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

  /** Sets a limit of the source or of the call. */
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
