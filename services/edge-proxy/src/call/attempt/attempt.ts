import type { Clock, Logger } from '@gateway/service-kit';
import type { AttemptJudgment } from '../../errors/judge-attempt.js';
import type { ReportedError } from '../../errors/reported-error.js';
import {
  type AuthorizationHeaders,
  type Authorizer,
  CredentialError,
  type DecryptedSource,
  type SourceFailure,
  type SourceReader,
  type SourceRequest,
  type SourceSender,
} from '../../ports.js';
import { type AdmittedCall, type EdgeSettings, callTime, freeBody } from '../call.js';
import type { Deadlines } from '../deadlines.js';
import type { EdgeMetrics } from '../edge-metrics.js';
import type { BodyFailure, Delivery, RelayEvents } from '../relay/delivery.js';
import { type RelayParts, type SourceHeaders, makeRelay } from '../relay/relay.js';
import {
  AttemptJudge,
  type AttemptOutcome,
  computeReadOnMs,
  findOtherCredential,
  toAttemptResult,
  markLeftByClient,
} from './attempt-judge.js';
import { AttemptLimits } from './attempt-limits.js';
import { type AttemptContext, type AttemptPhase, AttemptState } from './attempt-state.js';
import { buildSourceRequest } from './source-request.js';

/** Parts that an {@link Attempt} uses. */
export interface AttemptParts extends RelayParts {
  readonly settings: Pick<EdgeSettings, 'upstreamDeadlineMs' | 'readAfterDisconnectMs' | 'stalledMs'>;
  readonly sources: SourceSender;
  readonly deadlines: Deadlines;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<EdgeMetrics, 'firstToken' | 'leftBeforeFirstByte'>;
  /**
   * Counts and logs sources to which no connection was made because their address is private.
   * `reason` contains the address.
   */
  readonly privateSources: { refused(source: string, reason: string): void };
}

/**
 * Makes one attempt at one source. A usable response is relayed while it arrives. Resolves when
 * only the last chunk is left to send, or when the attempt has failed. Never rejects.
 */
export function attemptSource(
  parts: AttemptParts,
  call: AdmittedCall,
  opened: DecryptedSource,
  context: AttemptContext,
): Promise<AttemptOutcome> {
  return new Promise((resolve) => new Attempt(parts, call, opened, context, resolve).start());
}

/**
 * Handles the events of one attempt: those of the source, the relay, the client and the clock. An
 * event has an effect only if {@link AttemptState.takes} returns true for the phase. Events
 * are handled synchronously: the client gets a chunk before the parser continues, and a pause stops
 * the very next chunk.
 */
export class Attempt implements SourceReader, RelayEvents {
  readonly #parts: AttemptParts;
  readonly #call: AdmittedCall;
  readonly #opened: DecryptedSource;
  readonly #context: AttemptContext;
  readonly #state: AttemptState;

  constructor(
    parts: AttemptParts,
    call: AdmittedCall,
    opened: DecryptedSource,
    context: AttemptContext,
    resolve: (outcome: AttemptOutcome) => void,
  ) {
    this.#parts = parts;
    this.#call = call;
    this.#opened = opened;
    this.#context = context;
    const judge = new AttemptJudge(parts.clock, call, opened.source);
    const limits = new AttemptLimits(parts.deadlines, {
      source: opened.source.limits,
      deadlineAtMs: call.deadlineAt,
      silenceMs: parts.settings.upstreamDeadlineMs,
      stalledMs: parts.settings.stalledMs,
      expired: (limit) => this.#state.expire(limit),
      failed: (err) => this.#failInside(err),
    });
    this.#state = new AttemptState(call, opened, context, judge, limits, resolve);
  }

  get phase(): AttemptPhase {
    return this.#state.phase;
  }

  get #isGone(): boolean {
    return this.#call.request.answer.isGone;
  }

  /**
   * Handles an event from outside. An exception ends only this attempt. Uncaught, it would end the
   * process with all its streams, or be lost in the caller.
   */
  #take(step: () => void): void {
    try {
      step();
    } catch (err) {
      this.#failInside(err);
    }
  }

  #failInside(err: unknown): void {
    const { id } = this.#opened.source;
    this.#parts.log.error({ err, requestId: this.#call.id, source: id }, 'a request failed with an exception');
    this.#state.fail();
  }

  start(): void {
    this.#state.limits.watchHead();
    this.#call.request.answer.onGone(() => this.#take(() => this.#clientLeft()));
    this.#call.onEnded = (error) => this.#take(() => this.#state.stop(error));
    const request = buildSourceRequest(this.#call, this.#opened, this.#context.freshConnection);
    const { authorizer } = this.#opened;
    if (authorizer === null) this.#send(request);
    else this.#authorize(authorizer, request);
  }

  /** Sends the request when its credential is available. */
  #authorize(authorizer: Authorizer, request: SourceRequest): void {
    this.#state.awaitCredential(request);
    const authorized = authorizer.headersFor(request);
    if (!(authorized instanceof Promise)) return this.authorized(authorized);
    this.#state.limits.watchCredential(() => this.#unauthorized('no credential in time'));
    authorized
      .then((each) => this.authorized(each))
      .catch((err: unknown) => this.#unauthorized(err instanceof CredentialError ? err.message : 'no credential'));
  }

  /** Called when the credential is available. */
  authorized(authorized: AuthorizationHeaders): void {
    const request = this.#state.authorize(authorized);
    const { authorizer } = this.#opened;
    if (request === null || authorizer === null) return;
    // Set before the request is sent: it determines whether the body is kept for a retry.
    this.#state.judge.other = findOtherCredential(authorizer, authorized.version, this.#context.freshConnection);
    this.#send(request);
  }

  #unauthorized(reason: string): void {
    this.failed({ kind: 'unreachable', reused: false, reason });
  }

  #send(request: SourceRequest): void {
    this.#state.passing();
    this.#state.connected(this.#parts.sources.send(request, this));
  }

  // Events of the source.

  sent(): void {
    this.#state.isSent = true;
  }

  bodyTaken(reused: boolean): void {
    const { other } = this.#state.judge;
    const mayBeRepeated = (reused && !this.#context.freshConnection) || other === 'token' || other === 'key';
    if (this.#context.isLastSource && !this.#context.keepsBody && !mayBeRepeated) freeBody(this.#call);
  }

  head(status: number, headers: SourceHeaders): void {
    this.#take(() => this.#answeredWith(status, headers));
  }

  data(chunk: Buffer): void {
    this.#take(() => this.#read(chunk));
  }

  end(openEnded: boolean): void {
    this.#take(() => this.#readTo(openEnded));
  }

  failed(failure: SourceFailure): void {
    this.#take(() => this.#brokenBy(failure));
  }

  #answeredWith(status: number, headers: SourceHeaders): void {
    const state = this.#state;
    if (!state.takes('head')) return;
    const judged = state.judge.head(status, headers);
    if (status === 200 && judged.error === null) return this.#relayBody(headers);
    if (state.judge.readsBody()) return state.readErrorBody();
    state.conclude(judged, null);
    state.readRest(null);
  }

  #relayBody(headers: SourceHeaders): void {
    if (this.#context.isLastSource) freeBody(this.#call);
    this.#state.beginRelay();
    this.#call.request.answer.onDrain(() => this.#take(() => this.resume()));
    this.#state.relay = makeRelay(this.#parts, this.#call, this.#opened, headers, this);
  }

  #read(chunk: Buffer): void {
    const state = this.#state;
    switch (state.phase) {
      case 'relay':
        // After the client has left, only events reset the silence limit; comments do not.
        if (!this.#isGone) state.limits.resetSilence();
        return state.relay?.data(chunk);
      case 'error_body':
        return state.keepErrorBody(chunk);
      case 'rest':
        return state.takeRest(chunk);
      case 'credential':
      case 'head':
      case 'over':
        return;
    }
  }

  #readTo(openEnded: boolean): void {
    const state = this.#state;
    if (!state.takes('end')) return;
    state.exchange = null;
    if (state.phase === 'relay') state.relay?.end(openEnded);
    else if (state.phase === 'error_body') state.concludeErrorBody();
    else state.endRest(openEnded);
  }

  #brokenBy(failure: SourceFailure): void {
    const state = this.#state;
    if (!state.takes('failed')) return;
    state.exchange = null;
    if (state.phase === 'rest') return state.hangUp();
    if (state.phase === 'error_body') return state.concludeErrorBody();
    const { id } = this.#opened.source;
    this.#parts.log.debug({ requestId: this.#call.id, source: id, ...failure }, 'an attempt failed');
    if (failure.kind === 'private') this.#parts.privateSources.refused(id, failure.reason);
    if (state.hasBegun && state.limits.hasClientDelayedSource()) state.abandon();
    else state.breakOff(toAttemptResult(failure));
  }

  // Events of the relay.

  begun(): void {
    if (!this.#state.takes('begun')) return;
    this.#state.limits.sentBeginning();
    freeBody(this.#call);
    if (!this.#isGone) this.#call.firstByteAt = callTime(this.#parts, this.#call);
    this.#state.watchBody();
  }

  event(): void {
    const state = this.#state;
    if (this.#isGone) state.limits.resetSilence();
    if (state.hasEvent || !state.takes('first_event')) return;
    state.hasEvent = true;
    if (!state.limits.isPaused) state.limits.watchSilence();
  }

  keptBack(commit: () => void, msMax?: number): void {
    if (this.#state.takes('kept_back')) this.#state.limits.holdBack(commit, msMax);
  }

  firstToken(): void {
    const { begunAtMs, row } = this.#call;
    this.#parts.metrics.firstToken(row, (this.#parts.deadlines.nowMs() - begunAtMs) / 1_000);
  }

  ended(delivery: Delivery): void {
    const state = this.#state;
    if (!state.takes('ended')) return;
    const { relay } = state;
    const seen = this.#isGone ? markLeftByClient(delivery, state.leftAtBytes) : delivery;
    state.conclude(state.judge.delivered(delivery, this.#isGone), seen);
    if (delivery.ended === 'complete') state.readRest(relay);
    else state.hangUp();
  }

  incomplete(result: BodyFailure): void {
    if (this.#state.takes('incomplete')) this.#state.breakOff(result);
  }

  providerFailed(reported: ReportedError | null, canPass: boolean): boolean {
    const state = this.#state;
    if (!state.takes('provider_failed')) return false;
    const judged = state.judge.failureInside(reported);
    if (!canPass || !this.#passes(judged)) {
      state.breakOffBy(judged);
      return false;
    }
    state.judge.cutBy(judged);
    return true;
  }

  /**
   * Whether the client gets the provider's own error: always after the response has begun. Before
   * that only if the error is final, or if this is the last source of a non-streamed call.
   */
  #passes({ step }: AttemptJudgment): boolean {
    const { hasBegun } = this.#state;
    if (this.#isGone || hasBegun) return hasBegun;
    return step === 'final' || (this.#context.isLastSource && !this.#call.parsed.stream);
  }

  /** The client reads slower than the source writes. */
  pause(): void {
    const { limits, exchange } = this.#state;
    if (!this.#state.takes('pause') || limits.isPaused || exchange === null) return;
    exchange.pause();
    limits.pause(() => this.#stalled());
    this.#call.request.answer.watchReading(this.#parts.settings.stalledMs, () => this.#take(() => this.#stalled()));
  }

  // Events of the client.

  /** The client has not read for too long. */
  #stalled(): void {
    if (this.#state.takes('stalled')) this.#state.abandon();
  }

  /** The client has read all written bytes, or has left. */
  resume(): void {
    const state = this.#state;
    if (!state.limits.isPaused) return;
    state.limits.resume();
    this.#call.request.answer.unwatchReading();
    if (state.phase !== 'relay') return;
    state.limits.resetSilence();
    state.watchBody();
    state.exchange?.resume();
  }

  #clientLeft(): void {
    const state = this.#state;
    if (!state.takes('left')) return;
    state.leftAtBytes = state.relay?.deliveredBytes ?? 0;
    const { firstByteAt, begunAtMs } = this.#call;
    const { metrics, deadlines } = this.#parts;
    if (firstByteAt === null) metrics.leftBeforeFirstByte((deadlines.nowMs() - begunAtMs) / 1_000);
    // Reading on is only useful if the call is billed.
    const isOwed = state.isSent && this.#call.held !== null;
    const { readAfterDisconnectMs } = this.#parts.settings;
    const ms = isOwed ? computeReadOnMs(this.#opened, readAfterDisconnectMs, state.relay?.hasText === true) : 0;
    if (ms === 0) return state.abandon();
    state.limits.readOn(ms, () => state.abandon());
    if (state.phase === 'head') state.limits.watchHead();
    else state.watchBody();
    // Must come last: data that has arrived may end the response at once.
    this.resume();
  }
}
