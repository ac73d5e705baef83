import type { CatalogSource } from '@gateway/contracts/messages';
import type { AttemptResult } from '../domain/errors/judge-attempt.js';
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
    const { source, deadlineAtMs, expired } = this.#facts;
    const ownAtMs = source.headersTimeoutMs === null ? Infinity : this.#startedAt + source.headersTimeoutMs;
    if (ownAtMs < deadlineAtMs) this.#set(ownAtMs, () => expired('headers'));
    else this.watchDeadline();
  }

  /** From the head of a plain answer on: the call's deadline, to the end of the body. */
  watchDeadline(): void {
    const { deadlineAtMs, expired } = this.#facts;
    this.#set(deadlineAtMs, () => expired('deadline'));
  }

  /**
   * From the head of a stream to its first event. The source's own limit runs from the start of the
   * attempt. Without one the call's deadline ends it, whatever else is heard: comments are no
   * answer.
   */
  watchFirstEvent(): void {
    const { source, deadlineAtMs, expired } = this.#facts;
    const ownAtMs = source.firstEventTimeoutMs === null ? Infinity : this.#startedAt + source.firstEventTimeoutMs;
    if (ownAtMs < deadlineAtMs) return this.#set(ownAtMs, () => expired('first_event'));
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
    const { source, silenceMs, expired } = this.#facts;
    const limitMs = source.silenceTimeoutMs ?? silenceMs;
    this.#set(Math.min(this.#heardAt + limitMs, untilMs), () => {
      if (this.#deadlines.nowMs() >= untilMs) expired('deadline');
      else if (this.#deadlines.nowMs() - this.#heardAt < limitMs) this.#watchSilence(untilMs);
      else expired('silence');
    });
  }

  /**
   * While the client reads slower than the source writes: the source's silence is not its own then.
   */
  watchClient(gaveUp: () => void): void {
    this.in(this.#facts.silenceMs, gaveUp);
  }

  /**
   * For a client that has left: to that time (monotonic) at most. A stream that has begun ends this
   * by its silence, all else by the call's deadline.
   */
  watchReadOn(untilMs: number, isStream: boolean, over: () => void): void {
    const { deadlineAtMs, source, silenceMs } = this.#facts;
    if (!isStream) return this.#set(Math.min(untilMs, deadlineAtMs), over);
    const look = (): void => {
      const silentAtMs = this.#heardAt + (source.silenceTimeoutMs ?? silenceMs);
      const atMs = Math.min(untilMs, silentAtMs);
      if (this.#deadlines.nowMs() >= atMs) over();
      else this.#set(atMs, look);
    };
    look();
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

  #set(atMs: number, expired: () => void): void {
    this.#deadline?.cancel();
    this.#deadline = this.#deadlines.at(atMs, expired, this.#facts.failed);
  }
}
