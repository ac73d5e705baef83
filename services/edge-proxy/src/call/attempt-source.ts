import type { GatewayError } from '@gateway/contracts/errors';
import {
  type AttemptFacts,
  type AttemptResult,
  ERROR_BODY_BYTES_MAX,
  type AttemptJudgment,
} from '../errors/judge-attempt.js';
import type { ReportedError } from '../errors/said-error.js';
import {
  type AuthorizationHeaders,
  type Authorizer,
  CredentialError,
  type DecryptedSource,
  type SourceAttempt,
  type SourceFailure,
  type SourceReader,
  type SourceRequest,
} from '../ports.js';
import { AttemptJudge, type SourceHeaders, toAttemptResult } from './attempt-judge.js';
import { AttemptLimits, type Limit } from './attempt-limits.js';
import { type AttemptEvent, type AttemptPhase, isTaken } from './attempt-states.js';
import { type AdmittedCall, type Edge, callTime, freeBody } from './call.js';
import { ClientPauses } from './client-pauses.js';
import type { Deadline } from './deadlines.js';
import { type ResponseRelay, type BodyFailure, type Delivery, type RelayEvents, UNUSABLE } from './delivery.js';
import { makeRelay } from './make-relay.js';
import { buildSourceRequest } from './source-request.js';

/** Result of one attempt: a judgement, and a delivery if a response was relayed. */
export interface AttemptOutcome {
  readonly judged: AttemptJudgment;
  readonly delivery: Delivery | null;
  /** Time from the start of the attempt to the head of a usable response; null without one. */
  readonly firstByteMs: number | null;
}

/**
 * Bytes that are read after the result of an attempt is known, to keep the connection. After that
 * the connection is closed.
 */
const REST_BYTES_MAX = 64 * 1024;
const REST_MS_MAX = 5_000;
/** Time limit for the body of an error response. The bytes received until then are enough. */
const ERROR_BODY_MS_MAX = 2_000;
/**
 * Time after which the beginning of a stream is sent to the client even if it shows no response
 * yet. Proxies and clients close a silent connection after a minute. After this the edge tries no
 * other source. The value is at most half of the call's deadline.
 */
const COMMIT_AFTER_MS = 12_000;
/** Timeout for a credential. When it expires, the source counts as unreachable. */
const CREDENTIAL_WAIT_MS = 5_000;
/**
 * Time for which the edge reads on after the client has left, if a cancel stops the billing and the
 * stream has text. The usage may still arrive.
 */
const CANCEL_READ_ON_MS = 2_000;

export interface AttemptContext {
  /** Retry on a new connection: a reused connection was reset, or the credential was replaced. */
  readonly freshConnection: boolean;
  /** No other source is left after this one. */
  readonly isLastSource: boolean;
  /** The source may get the body again after it has responded. */
  readonly keepsBody: boolean;
  /** Called once when the attempt no longer uses the source; possibly after the result. */
  readonly over: () => void;
}

/**
 * Makes one attempt at one source. A usable response is relayed while it arrives. Resolves when
 * only the last chunk is left to send, or when the attempt has failed. Never rejects.
 */
export function attemptSource(
  edge: Edge,
  call: AdmittedCall,
  opened: DecryptedSource,
  facts: AttemptContext,
): Promise<AttemptOutcome> {
  return new Promise((resolve) => new Attempt(edge, call, opened, facts, resolve).start());
}

/**
 * One attempt. Each event of the source, the relay, the client and the clock is a method; {@link
 * ATTEMPT_STATES} lists the phases in which it has an effect. Events are handled synchronously: the
 * client gets a chunk before the parser continues, and a pause stops the very next chunk.
 */
export class Attempt implements SourceReader, RelayEvents {
  readonly #edge: Edge;
  readonly #call: AdmittedCall;
  readonly #opened: DecryptedSource;
  readonly #facts: AttemptContext;
  readonly #resolve: (tried: AttemptOutcome) => void;
  readonly #judge: AttemptJudge;
  #exchange: SourceAttempt | null = null;
  #phase: AttemptPhase = 'head';
  /** The request that waits for its credential. */
  #unsent: SourceRequest | null = null;
  /** Credential of the request; null: the source's fixed headers. */
  #authorized: AuthorizationHeaders | null = null;
  #isSent = false;
  readonly #startedAtMs: number;
  #firstByteMs: number | null = null;
  readonly #limits: AttemptLimits;
  readonly #pauses: ClientPauses;
  #relay: ResponseRelay | null = null;
  #hasEvent = false;
  #commit: Deadline | null = null;
  /**
   * Bytes of generated text that the client had received when it left; null while it is connected.
   */
  #leftAtBytes: number | null = null;
  /** The relay of a complete response. Receives the bytes that the provider still sends. */
  #follower: ResponseRelay | null = null;
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(
    edge: Edge,
    call: AdmittedCall,
    opened: DecryptedSource,
    facts: AttemptContext,
    resolve: (tried: AttemptOutcome) => void,
  ) {
    this.#edge = edge;
    this.#call = call;
    this.#opened = opened;
    this.#facts = facts;
    this.#resolve = resolve;
    this.#startedAtMs = edge.deadlines.nowMs();
    this.#judge = new AttemptJudge(edge, call, opened.source);
    this.#pauses = new ClientPauses(edge.settings.stalledMs);
    this.#limits = new AttemptLimits(edge.deadlines, {
      source: opened.source.limits,
      deadlineAtMs: call.deadlineAt,
      silenceMs: edge.settings.upstreamDeadlineMs,
      expired: (limit) => this.#expired(limit),
      failed: (err) => this.#failInside(err),
    });
  }

  get phase(): AttemptPhase {
    return this.#phase;
  }

  #takes(event: AttemptEvent): boolean {
    return isTaken(this.#phase, event);
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

  /** Handles an exception in the edge during the attempt. It counts as an unusable response. */
  #failInside(err: unknown): void {
    const { id } = this.#opened.source;
    this.#edge.log.error({ err, requestId: this.#call.id, source: id }, 'a call failed with an exception');
    const judged = this.#judge.result(UNUSABLE);
    const cut: Delivery = { ended: 'cut', meter: null, lastPiece: null, error: judged.error };
    const hasBegun = this.#relay?.hasBegun === true;
    this.#relay?.drop();
    this.#conclude(judged, hasBegun ? cut : null);
    this.#hangUp();
  }

  start(): void {
    this.#limits.watchHead();
    this.#call.request.answer.onGone(() => this.#take(() => this.#clientLeft()));
    this.#call.onEnded = (error) => this.#take(() => this.#stop(error));
    const request = buildSourceRequest(this.#call, this.#opened, this.#facts.freshConnection);
    const { authorizer } = this.#opened;
    if (authorizer === null) this.#send(request);
    else this.#authorize(authorizer, request);
  }

  /** Sends the request when its credential is available; see {@link CREDENTIAL_WAIT_MS}. */
  #authorize(authorizer: Authorizer, request: SourceRequest): void {
    this.#phase = 'credential';
    this.#unsent = request;
    const authorized = authorizer.headersFor(request);
    if (!(authorized instanceof Promise)) return this.authorized(authorized);
    this.#limits.watchCredential(CREDENTIAL_WAIT_MS, () => this.#unauthorized('no credential in time'));
    authorized
      .then((each) => this.authorized(each))
      .catch((err: unknown) => this.#unauthorized(err instanceof CredentialError ? err.message : 'no credential'));
  }

  /** Called when the credential is available. */
  authorized(authorized: AuthorizationHeaders): void {
    if (!this.#takes('authorized') || this.#unsent === null) return;
    const request = { ...this.#unsent, headers: this.#unsent.headers.concat(authorized.headers) };
    this.#unsent = null;
    this.#authorized = authorized;
    // Set before the request is sent: it determines whether the body is kept for a retry.
    this.#judge.other = this.#otherThan(authorized.version);
    this.#phase = 'head';
    this.#limits.watchHead();
    this.#send(request);
  }

  #otherThan(version: number): AttemptFacts['other'] {
    const { authorizer } = this.#opened;
    if (authorizer === null || !authorizer.mayReplace(version)) return undefined;
    const isSecondTry = this.#facts.freshConnection;
    if (authorizer.kind === 'keys') return isSecondTry ? 'key_later' : 'key';
    return isSecondTry ? undefined : 'token';
  }

  #unauthorized(reason: string): void {
    this.failed({ kind: 'unreachable', reused: false, reason });
  }

  #send(request: SourceRequest): void {
    const exchange = this.#edge.sources.send(request, this);
    if (this.#phase === 'over') exchange.abort();
    else this.#exchange = exchange;
  }

  sent(): void {
    this.#isSent = true;
  }

  bodyTaken(reused: boolean): void {
    const { other } = this.#judge;
    const mayBeRepeated = (reused && !this.#facts.freshConnection) || other === 'token' || other === 'key';
    if (this.#facts.isLastSource && !this.#facts.keepsBody && !mayBeRepeated) freeBody(this.#call);
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
    if (!this.#takes('head')) return;
    const judged = this.#judge.head(status, headers);
    if (status === 200 && judged.error === null) return this.#relayBody(headers);
    if (this.#judge.readsBody()) {
      this.#phase = 'error_body';
      return this.#limits.in(ERROR_BODY_MS_MAX, () => this.#concludeErrorBody());
    }
    this.#conclude(judged, null);
    this.#readRest();
  }

  #read(chunk: Buffer): void {
    switch (this.#phase) {
      case 'relay':
        // After the client has left, only events reset the silence limit; comments do not.
        if (!this.#call.request.answer.isGone) this.#limits.heard();
        return this.#relay?.data(chunk);
      case 'error_body':
        this.#rest.push(chunk);
        this.#restBytes += chunk.length;
        if (this.#restBytes >= ERROR_BODY_BYTES_MAX) this.#concludeErrorBody();
        return;
      case 'rest':
        this.#follower?.data(chunk);
        this.#restBytes += chunk.length;
        if (this.#restBytes > REST_BYTES_MAX) this.#hangUp();
        return;
      case 'credential':
      case 'head':
      case 'over':
        return;
    }
  }

  #readTo(openEnded: boolean): void {
    if (!this.#takes('end')) return;
    this.#exchange = null;
    if (this.#phase === 'relay') return this.#relay?.end(openEnded);
    if (this.#phase === 'error_body') return this.#concludeErrorBody();
    this.#follower?.end(openEnded);
    this.#hangUp();
  }

  #brokenBy(failure: SourceFailure): void {
    if (!this.#takes('failed')) return;
    this.#exchange = null;
    if (this.#phase === 'rest') return this.#hangUp();
    if (this.#phase === 'error_body') return this.#concludeErrorBody();
    const { id } = this.#opened.source;
    this.#edge.log.debug({ requestId: this.#call.id, source: id, ...failure }, 'an attempt failed');
    if (failure.kind === 'private') this.#edge.privateSources.refused(id, failure.reason);
    if (this.#relay?.hasBegun === true && this.#pauses.madeProviderWait(this.#nowMs())) return this.#abandon();
    this.#breakOff(toAttemptResult(failure));
  }

  begun(): void {
    if (!this.#takes('begun')) return;
    this.#commit?.cancel();
    freeBody(this.#call);
    if (!this.#call.request.answer.isGone) this.#call.firstByteAt = callTime(this.#edge, this.#call);
    this.#watchBody();
  }

  event(): void {
    if (this.#call.request.answer.isGone) this.#limits.heard();
    if (this.#hasEvent || !this.#takes('first_event')) return;
    this.#hasEvent = true;
    if (!this.#pauses.isPaused) this.#limits.watchSilence();
  }

  keptBack(commit: () => void, msMax = COMMIT_AFTER_MS): void {
    if (!this.#takes('kept_back')) return;
    this.#commit?.cancel();
    const afterMs = Math.min(msMax, this.#edge.settings.upstreamDeadlineMs / 2);
    this.#commit = this.#edge.deadlines.in(afterMs, commit, (err) => this.#failInside(err));
  }

  firstToken(): void {
    const { begunAtMs, row } = this.#call;
    this.#edge.metrics.firstToken(row, (this.#nowMs() - begunAtMs) / 1_000);
  }

  ended(delivery: Delivery): void {
    if (!this.#takes('ended')) return;
    const isGone = this.#call.request.answer.isGone;
    const ended = isGone ? this.#deliveryToNobody(delivery) : delivery;
    const relay = this.#relay;
    this.#conclude(this.#judge.delivered(delivery, isGone), ended);
    if (delivery.ended !== 'complete') return this.#hangUp();
    this.#follower = relay;
    this.#readRest();
  }

  incomplete(result: BodyFailure): void {
    if (this.#takes('incomplete')) this.#breakOff(result);
  }

  providerFailed(said: ReportedError | null, canPass: boolean): boolean {
    if (!this.#takes('provider_failed')) return false;
    const judged = this.#judge.failureInside(said);
    if (!canPass || !this.#passes(judged)) {
      this.#breakOffBy(judged);
      return false;
    }
    this.#judge.cutBy(judged);
    return true;
  }

  /**
   * Whether the client gets the provider's own error: always after the response has begun. Before
   * that only if the error is final, or if this is the last source of a non-streamed call.
   */
  #passes({ step }: AttemptJudgment): boolean {
    if (this.#call.request.answer.isGone || this.#relay?.hasBegun === true) return this.#relay?.hasBegun === true;
    return step === 'final' || (this.#facts.isLastSource && !this.#call.parsed.stream);
  }

  pause(): void {
    if (!this.#takes('pause') || this.#pauses.isPaused || this.#exchange === null) return;
    this.#pauses.pause(this.#nowMs());
    this.#exchange.pause();
    this.#limits.watchClient(() => this.#stalled());
    this.#call.request.answer.watchReading(this.#edge.settings.stalledMs, () => this.#take(() => this.#stalled()));
  }

  /** Called when the client has not read for too long. */
  #stalled(): void {
    if (this.#takes('stalled')) this.#abandon();
  }

  /** Called when the client has read all written bytes, or has left. */
  resume(): void {
    if (!this.#pauses.isPaused) return;
    this.#pauses.resume(this.#nowMs());
    this.#call.request.answer.unwatchReading();
    if (this.#phase !== 'relay') return;
    this.#limits.heard();
    this.#watchBody();
    this.#exchange?.resume();
  }

  /** Sets the limit for the body, unless it is already complete. */
  #watchBody(): void {
    if (this.#exchange === null) return;
    if (!this.#call.parsed.stream) this.#limits.watchDeadline();
    else if (this.#hasEvent) this.#limits.watchSilence();
    else this.#limits.watchFirstEvent();
  }

  #relayBody(headers: SourceHeaders): void {
    this.#phase = 'relay';
    if (this.#facts.isLastSource) freeBody(this.#call);
    this.#firstByteMs = this.#nowMs() - this.#startedAtMs;
    this.#limits.heard();
    const { answer } = this.#call.request;
    this.#watchBody();
    answer.onDrain(() => this.#take(() => this.resume()));
    this.#relay = makeRelay(this.#edge, this.#call, this.#opened, headers, this);
  }

  #clientLeft(): void {
    if (!this.#takes('left')) return;
    this.#leftAtBytes = this.#relay?.deliveredBytes ?? 0;
    const readOnMs = this.#readOnMs();
    if (readOnMs === 0) return this.#abandon();
    this.#limits.readOn(readOnMs === null ? Infinity : this.#nowMs() + readOnMs, () => this.#abandon());
    if (this.#phase === 'head') this.#limits.watchHead();
    else this.#watchBody();
    // Must come last: data that has arrived may end the response at once.
    this.resume();
  }

  /** How long the edge reads on for the usage; null: to the end of the response. */
  #readOnMs(): number | null {
    const { readOnMs } = this.#edge.settings;
    // Reading on is only useful if the call is billed.
    if (!this.#isSent || this.#call.held === null) return 0;
    if (!this.#opened.source.cancelStopsBilling) return readOnMs;
    return this.#relay?.hasText === true ? Math.min(readOnMs ?? CANCEL_READ_ON_MS, CANCEL_READ_ON_MS) : 0;
  }

  /**
   * Marks a complete response as left by the client. A response that the provider cut stays cut, so
   * it costs nothing.
   */
  #deliveryToNobody(delivery: Delivery): Delivery {
    const { ended, meter } = delivery;
    return {
      ...delivery,
      ended: ended === 'complete' ? 'client_left' : ended,
      meter: meter && { ...meter, deliveredBytes: Math.min(meter.deliveredBytes, this.#leftAtBytes ?? Infinity) },
    };
  }

  #abandon(): void {
    // If a cancel stops the billing, a cancel before the response costs nothing. A non-streamed
    // response is complete before its head is sent, so it is charged.
    const { cancelStopsBilling } = this.#opened.source;
    const relay = this.#relay;
    const hasAnswer = relay !== null && (relay.hasBegun || relay.hasText || !this.#call.parsed.stream);
    if (relay !== null && (hasAnswer || !cancelStopsBilling)) return relay.stop('client_left', null);
    const sent = this.#isSent && !cancelStopsBilling;
    this.#conclude(this.#judge.result({ kind: 'abandoned', sent }), null);
    this.#hangUp();
  }

  /** Ends the attempt because the call was stopped from outside. */
  #stop(error: GatewayError): void {
    if (!this.#takes('stopped')) return;
    this.#breakOff({ kind: 'stopped', sent: this.#isSent, error });
  }

  #expired(limit: Limit): void {
    const isClients = limit === 'deadline' && this.#pauses.areWaitedFor(this.#nowMs());
    if (isClients) this.#abandon();
    else this.#breakOff({ kind: 'timed_out', limit, sent: this.#isSent });
  }

  #nowMs(): number {
    return this.#edge.deadlines.nowMs();
  }

  /** Ends the attempt without a complete response. */
  #breakOff(result: AttemptResult): void {
    this.#breakOffBy(this.#judge.result(result));
  }

  #breakOffBy(judged: AttemptJudgment): void {
    if (this.#relay?.hasBegun === true) {
      this.#judge.cutBy(judged);
      this.#relay.stop('cut', judged.error);
    } else this.#conclude(judged, null);
    this.#hangUp();
  }

  #concludeErrorBody(): void {
    const judged = this.#judge.refusal(Buffer.concat(this.#rest).subarray(0, ERROR_BODY_BYTES_MAX));
    this.#conclude(judged, null);
    if (this.#exchange === null) this.#hangUp();
    else this.#readRest();
  }

  #conclude(judged: AttemptJudgment, delivery: Delivery | null): void {
    if (this.#phase === 'over' || this.#phase === 'rest') return;
    this.#limits.cancel();
    this.#commit?.cancel();
    this.#phase = 'rest';
    this.#unsent = null;
    if (this.#authorized !== null)
      this.#opened.authorizer?.judged(this.#authorized.version, judged, this.#call.account);
    this.#call.onEnded = null;
    if (delivery === null) this.#relay?.drop();
    this.#relay = null;
    this.#resolve({ judged, delivery, firstByteMs: this.#firstByteMs });
  }

  /**
   * Reads the trailing bytes of the response, within limits, so that the connection can be reused.
   */
  #readRest(): void {
    if (this.#exchange === null) return this.#hangUp();
    this.#restBytes = 0;
    this.#rest = [];
    if (this.#pauses.isPaused) this.#exchange.resume();
    this.#limits.in(REST_MS_MAX, () => this.#hangUp());
  }

  #hangUp(): void {
    if (this.#phase !== 'over') this.#facts.over();
    this.#phase = 'over';
    this.#limits.cancel();
    this.#exchange?.abort();
    this.#exchange = null;
  }
}
