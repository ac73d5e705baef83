import type { GatewayError } from '@gateway/contracts/errors';
import {
  type AttemptFacts,
  type AttemptResult,
  ERROR_BODY_BYTES_MAX,
  type JudgedAttempt,
} from '../errors/judge-attempt.js';
import type { SaidError } from '../errors/said-error.js';
import {
  type Authorized,
  type Authorizer,
  CredentialError,
  type OpenedSource,
  type SourceExchange,
  type SourceFailure,
  type SourceReader,
  type SourceRequest,
} from '../ports.js';
import { AttemptJudge, type SourceHeaders, resultOfFailure } from './attempt-judge.js';
import { AttemptLimits, type Limit } from './attempt-limits.js';
import { type AttemptEvent, type Phase, isTaken } from './attempt-states.js';
import { type AdmittedCall, type Edge, callTime, freeBody } from './call.js';
import { ClientPauses } from './client-pauses.js';
import type { Deadline } from './deadlines.js';
import { type AnswerRelay, type BodyFailure, type Delivery, type RelayEvents, UNUSABLE } from './delivery.js';
import { makeRelay } from './make-relay.js';
import { sourceRequest } from './source-request.js';

/**
 * How one try of one source has ended: with an answer that was relayed, or with a judgement only.
 */
export interface Tried {
  readonly judged: JudgedAttempt;
  readonly delivery: Delivery | null;
  /** From its start to the head of its answer; null: there was none that is an answer. */
  readonly firstByteMs: number | null;
}

/**
 * After an answer was judged, so much of its rest is read to keep the connection; then it is
 * closed.
 */
const REST_BYTES_MAX = 64 * 1024;
const REST_MS_MAX = 5_000;
/** How long the text of a refusal is waited for: what came until then is enough. */
const ERROR_BODY_MS_MAX = 2_000;
/**
 * So long a stream may say nothing of an answer before its beginning goes to the client: proxies
 * and clients give up a silent connection after a minute. No other source is asked from then on. At
 * most half of the call's own deadline.
 */
const COMMIT_AFTER_MS = 12_000;
/** Longest wait for a token: the source counts as unreachable then. */
const CREDENTIAL_WAIT_MS = 5_000;
/**
 * Where a cancel stops the billing, a stream of which text was seen is read on for so long: its
 * usage may be on its way.
 */
const CANCEL_READ_ON_MS = 2_000;

export interface TryFacts {
  /**
   * A second try, on a connection of its own: a reused one was reset, or the credential was
   * replaced.
   */
  readonly freshConnection: boolean;
  /** No other source is left to be asked after this one. */
  readonly isLastSource: boolean;
  /** The source may be sent the body again after its status. */
  readonly keepsBody: boolean;
  /** Called once: the source has no more to do with the try, which may be later than its result. */
  readonly over: () => void;
}

/**
 * One try of one source. A usable answer is relayed while it comes; the promise resolves when
 * nothing but its last piece is left, or when the try has failed. Never rejects.
 */
export function attemptSource(edge: Edge, call: AdmittedCall, opened: OpenedSource, facts: TryFacts): Promise<Tried> {
  return new Promise((resolve) => new Attempt(edge, call, opened, facts, resolve).start());
}

/**
 * Each event of the source, the relay, the client and the clock is a method, and
 * {@link ATTEMPT_STATES} says in which phase it changes anything. Events are taken where they
 * happen: a chunk is with the client before its parser goes on, and a pause holds the very next
 * one up.
 */
export class Attempt implements SourceReader, RelayEvents {
  readonly #edge: Edge;
  readonly #call: AdmittedCall;
  readonly #opened: OpenedSource;
  readonly #facts: TryFacts;
  readonly #resolve: (tried: Tried) => void;
  readonly #judge: AttemptJudge;
  #exchange: SourceExchange | null = null;
  #phase: Phase = 'head';
  /** Not sent yet: it waits for its credential. */
  #unsent: SourceRequest | null = null;
  /** What the request was let in with; null: the source's fixed headers. */
  #authorized: Authorized | null = null;
  #isSent = false;
  readonly #startedAtMs: number;
  #firstByteMs: number | null = null;
  readonly #limits: AttemptLimits;
  readonly #pauses: ClientPauses;
  #relay: AnswerRelay | null = null;
  #hasEvent = false;
  #commit: Deadline | null = null;
  /** Bytes of generated text that the client had got when it left; null: it is still there. */
  #leftAtBytes: number | null = null;
  /** Of a complete answer: takes what its provider still sends. */
  #follower: AnswerRelay | null = null;
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(edge: Edge, call: AdmittedCall, opened: OpenedSource, facts: TryFacts, resolve: (tried: Tried) => void) {
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

  get phase(): Phase {
    return this.#phase;
  }

  #takes(event: AttemptEvent): boolean {
    return isTaken(this.#phase, event);
  }

  /**
   * What an event from outside brings about. What that throws ends this try alone: thrown on it
   * would end the process and all its streams, or be lost in whoever tells the event.
   */
  #take(step: () => void): void {
    try {
      step();
    } catch (err) {
      this.#failInside(err);
    }
  }

  /** A fault of the edge's, met with this source: it counts like an answer that is none. */
  #failInside(err: unknown): void {
    const { id } = this.#opened.source;
    this.#edge.log.error({ err, requestId: this.#call.id, source: id }, 'a call failed inside the edge');
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
    const request = sourceRequest(this.#call, this.#opened, this.#facts.freshConnection);
    const { authorizer } = this.#opened;
    if (authorizer === null) this.#send(request);
    else this.#authorize(authorizer, request);
  }

  /** The request goes when its headers are there: at once, or after a wait that has a bound. */
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

  /** The credential is there. */
  authorized(authorized: Authorized): void {
    if (!this.#takes('authorized') || this.#unsent === null) return;
    const request = { ...this.#unsent, headers: this.#unsent.headers.concat(authorized.headers) };
    this.#unsent = null;
    this.#authorized = authorized;
    // Decided here: whether the body is kept for a second try follows from it.
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
        // Comments keep no answer alive that nobody reads: of that one only events count.
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
    this.#edge.log.debug({ requestId: this.#call.id, source: id, ...failure }, 'an attempt broke');
    if (failure.kind === 'private') this.#edge.privateSources.refused(id, failure.reason);
    if (this.#relay?.hasBegun === true && this.#pauses.madeProviderWait(this.#nowMs())) return this.#abandon();
    this.#breakOff(resultOfFailure(failure));
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

  providerFailed(said: SaidError | null, canPass: boolean): boolean {
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
   * A provider's own error goes to the client once the answer has begun, where it is final, and
   * plain also from the last source.
   */
  #passes({ step }: JudgedAttempt): boolean {
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

  /** The client takes nothing of what it was sent. */
  #stalled(): void {
    if (this.#takes('stalled')) this.#abandon();
  }

  /** The client has read what it was sent, or has left. */
  resume(): void {
    if (!this.#pauses.isPaused) return;
    this.#pauses.resume(this.#nowMs());
    this.#call.request.answer.unwatchReading();
    if (this.#phase !== 'relay') return;
    this.#limits.heard();
    this.#watchBody();
    this.#exchange?.resume();
  }

  /** From the head on. An answer that is complete when it begins has nothing to watch for. */
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
    // Last: what has arrived may end the answer at once.
    this.resume();
  }

  /** How long the answer is read on for its usage, null: to its end. */
  #readOnMs(): number | null {
    const { readOnMs } = this.#edge.settings;
    // Of a call that nobody pays for there is nothing to read on for.
    if (!this.#isSent || this.#call.held === null) return 0;
    if (!this.#opened.source.cancelStopsBilling) return readOnMs;
    return this.#relay?.hasText === true ? Math.min(readOnMs ?? CANCEL_READ_ON_MS, CANCEL_READ_ON_MS) : 0;
  }

  /** What its provider ended by itself is a cut also when nobody reads it: it costs nothing. */
  #deliveryToNobody(delivery: Delivery): Delivery {
    const { ended, meter } = delivery;
    return {
      ...delivery,
      ended: ended === 'complete' ? 'client_left' : ended,
      meter: meter && { ...meter, deliveredBytes: Math.min(meter.deliveredBytes, this.#leftAtBytes ?? Infinity) },
    };
  }

  #abandon(): void {
    // What is cancelled before an answer began costs nothing where the cancel stops the billing; a
    // plain answer was made before its head.
    const { cancelStopsBilling } = this.#opened.source;
    const relay = this.#relay;
    const hasAnswer = relay !== null && (relay.hasBegun || relay.hasText || !this.#call.parsed.stream);
    if (relay !== null && (hasAnswer || !cancelStopsBilling)) return relay.stop('client_left', null);
    const sent = this.#isSent && !cancelStopsBilling;
    this.#conclude(this.#judge.result({ kind: 'abandoned', sent }), null);
    this.#hangUp();
  }

  /** The call is ended from outside. */
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

  /** Ends the attempt without a complete answer. */
  #breakOff(result: AttemptResult): void {
    this.#breakOffBy(this.#judge.result(result));
  }

  #breakOffBy(judged: JudgedAttempt): void {
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

  #conclude(judged: JudgedAttempt, delivery: Delivery | null): void {
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
   * Lets the provider finish what it is sending, within bounds, so that the connection can be used
   * again.
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
