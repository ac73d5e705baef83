import type { CatalogSource } from '@gateway/contracts/messages';
import type { AttemptResult } from '../../errors/judge-attempt.js';
import type { Deadline, Deadlines } from '../deadlines.js';

export type Limit = Extract<AttemptResult, { kind: 'timed_out' }>['limit'];

/** Timeout for a credential. When it expires, the source counts as unreachable. */
const CREDENTIAL_WAIT_MS = 5_000;
/** Time limit for the body of an error response. The bytes received until then are enough. */
const ERROR_BODY_MS_MAX = 2_000;
/** Time limit for the bytes after the result of an attempt. */
const REST_MS_MAX = 5_000;
/**
 * Time after which the beginning of a stream is sent to the client even if it shows no response
 * yet. Proxies and clients close a silent connection after a minute. After this the edge tries no
 * other source. The value is at most half of the call's deadline.
 */
const COMMIT_AFTER_MS = 12_000;

/** A pause of this length may cause a provider to close the connection. */
export const LONG_PAUSE_MS = 10_000;
/**
 * Shorter pauses are ignored: a large write may wait for a moment even if the client reads as fast
 * as it can.
 */
export const NOTICEABLE_PAUSE_MS = 250;
/**
 * Factor for the time in which a broken connection is still attributed to a long pause. Buffered
 * bytes are read first, so the break shows late.
 */
const AFTER_PAUSE_FACTOR = 6;

export interface AttemptLimitOptions {
  readonly source: CatalogSource['limits'];
  /** Monotonic deadline for the response head; for a non-streamed response, for its end. */
  readonly deadlineAtMs: number;
  /**
   * Longest silence within a response if the source does not define one. Also the longest pause of
   * a client that does not read.
   */
  readonly silenceMs: number;
  /** Longest time without a read of the client. A pause of half of it counts as long. */
  readonly stalledMs: number;
  readonly expired: (limit: Limit) => void;
  /** Receives the exception of a limit's handler. */
  readonly failed: (err: unknown) => void;
}

/**
 * The times of one attempt (docs/behaviour.md#times): its time limits, and the pauses of its
 * client. Only one limit is active at a time; each new one replaces the previous one. The time
 * until a held beginning is sent runs in addition.
 */
export class AttemptLimits {
  readonly #deadlines: Deadlines;
  readonly #options: AttemptLimitOptions;
  readonly #startedAt: number;
  #heardAt: number;
  #deadline: Deadline | null = null;
  #commit: Deadline | null = null;
  /** When the client stopped reading; null: it reads. */
  #pausedAt: number | null = null;
  /** End of the last pause of at least {@link NOTICEABLE_PAUSE_MS}, and of the last long one. */
  #pauseEndedAt = -Infinity;
  #longPauseEndedAt = -Infinity;
  /** Set when the client has left. */
  #readOn: { readonly untilMs: number; readonly over: () => void } | null = null;

  constructor(deadlines: Deadlines, options: AttemptLimitOptions) {
    this.#deadlines = deadlines;
    this.#options = options;
    this.#startedAt = this.#heardAt = deadlines.nowMs();
  }

  /** Milliseconds since the start of the attempt. */
  get elapsedMs(): number {
    return this.#deadlines.nowMs() - this.#startedAt;
  }

  /** Limits the wait for a credential, also by the header timeout and the call's deadline. */
  watchCredential(gaveUp: () => void): void {
    const { source, deadlineAtMs } = this.#options;
    const ownMs = Math.min(CREDENTIAL_WAIT_MS, source.headersTimeoutMs ?? Infinity);
    this.#set(Math.min(this.#startedAt + ownMs, deadlineAtMs), gaveUp);
  }

  /** Applies the source's own header timeout or the call's deadline, whichever is first. */
  watchHead(): void {
    const { source, deadlineAtMs } = this.#options;
    const ownAtMs = source.headersTimeoutMs === null ? Infinity : this.#startedAt + source.headersTimeoutMs;
    if (ownAtMs < deadlineAtMs) this.#watch(ownAtMs, () => this.#expired('headers'));
    else this.watchDeadline();
  }

  watchErrorBody(expired: () => void): void {
    this.#set(this.#deadlines.nowMs() + ERROR_BODY_MS_MAX, expired);
  }

  /**
   * Applies the call's deadline from the head of a non-streamed response to the end of its body.
   */
  watchDeadline(): void {
    this.#watch(this.#options.deadlineAtMs, () => this.#expired('deadline'));
  }

  /**
   * Applies the limit for the first event of a stream. The source's own limit runs from the start
   * of the attempt. If the source has none, the call's deadline applies, even if comments arrive.
   */
  watchFirstEvent(): void {
    const { source, deadlineAtMs } = this.#options;
    const ownAtMs = source.firstEventTimeoutMs === null ? Infinity : this.#startedAt + source.firstEventTimeoutMs;
    if (ownAtMs < deadlineAtMs) return this.#watch(ownAtMs, () => this.#expired('first_event'));
    this.#watchSilence(deadlineAtMs);
  }

  /** Applies the silence limit from the first event of a stream. */
  watchSilence(): void {
    this.#watchSilence(Infinity);
  }

  /**
   * Each chunk only stores its time, which is cheap; on expiry the timer starts again from there.
   */
  #watchSilence(untilMs: number): void {
    const { source, silenceMs } = this.#options;
    const limitMs = source.silenceTimeoutMs ?? silenceMs;
    this.#watch(Math.min(this.#heardAt + limitMs, untilMs), () => {
      if (this.#deadlines.nowMs() >= untilMs) this.#expired('deadline');
      else if (this.#deadlines.nowMs() - this.#heardAt < limitMs) this.#watchSilence(untilMs);
      else this.#expired('silence');
    });
  }

  resetSilence(): void {
    this.#heardAt = this.#deadlines.nowMs();
  }

  /** Limits the reading of the bytes after the result. */
  watchRest(expired: () => void): void {
    this.#set(this.#deadlines.nowMs() + REST_MS_MAX, expired);
  }

  /** Calls `commit` when the beginning of a stream was held back for too long. */
  holdBack(commit: () => void, msMax = COMMIT_AFTER_MS): void {
    this.#commit?.cancel();
    const afterMs = Math.min(msMax, this.#options.silenceMs / 2);
    this.#commit = this.#deadlines.in(afterMs, commit, this.#options.failed);
  }

  /** The beginning of the stream was sent. */
  sentBeginning(): void {
    this.#commit?.cancel();
  }

  get isPaused(): boolean {
    return this.#pausedAt !== null;
  }

  /**
   * Begins a pause of the client, which reads slower than the source writes. Its length has a
   * limit, and the source's silence limit does not apply then.
   */
  pause(gaveUp: () => void): void {
    this.#pausedAt = this.#deadlines.nowMs();
    this.#set(this.#pausedAt + this.#options.silenceMs, gaveUp);
  }

  resume(): void {
    const now = this.#deadlines.nowMs();
    const pausedMs = this.#pausedMs(now);
    this.#pausedAt = null;
    if (pausedMs >= NOTICEABLE_PAUSE_MS) this.#pauseEndedAt = now;
    if (pausedMs >= this.#longPauseMs) this.#longPauseEndedAt = now;
  }

  /**
   * Whether a connection that breaks now was delayed by a long pause of the client. Then the client
   * caused it, and pays for the delivered part like a client that left.
   */
  hasClientDelayedSource(): boolean {
    const now = this.#deadlines.nowMs();
    if (this.#pausedMs(now) >= this.#longPauseMs) return true;
    return now - this.#longPauseEndedAt <= this.#longPauseMs * AFTER_PAUSE_FACTOR;
  }

  /** Whether a response that is late now was delayed by a noticeable pause of the client. */
  hasClientDelayedResponse(): boolean {
    const now = this.#deadlines.nowMs();
    return this.#pausedMs(now) >= NOTICEABLE_PAUSE_MS || now - this.#pauseEndedAt <= this.#longPauseMs;
  }

  /** Length of the current pause. */
  #pausedMs(now: number): number {
    return this.#pausedAt === null ? 0 : now - this.#pausedAt;
  }

  get #longPauseMs(): number {
    return Math.min(LONG_PAUSE_MS, this.#options.stalledMs / 2);
  }

  /**
   * Called when the client has left. Each later limit ends `ms` from now at the latest; null: no
   * further limit. When it expires, `over` is called.
   */
  readOn(ms: number | null, over: () => void): void {
    this.#readOn = { untilMs: ms === null ? Infinity : this.#deadlines.nowMs() + ms, over };
  }

  cancel(): void {
    this.#deadline?.cancel();
    this.#deadline = null;
    this.#commit?.cancel();
  }

  /** Sets a limit of the source or of the call. */
  #watch(atMs: number, expired: () => void): void {
    const readOn = this.#readOn;
    if (readOn !== null && readOn.untilMs < atMs) this.#set(readOn.untilMs, readOn.over);
    else this.#set(atMs, expired);
  }

  #expired(limit: Limit): void {
    if (this.#readOn === null) this.#options.expired(limit);
    else this.#readOn.over();
  }

  #set(atMs: number, expired: () => void): void {
    this.#deadline?.cancel();
    this.#deadline = this.#deadlines.at(atMs, expired, this.#options.failed);
  }
}
