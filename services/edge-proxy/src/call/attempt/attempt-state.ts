import type { GatewayError } from '@gateway/contracts/errors';
import { type AttemptJudgment, type AttemptResult, ERROR_BODY_BYTES_MAX } from '../../errors/judge-attempt.js';
import type { AuthorizationHeaders, DecryptedSource, SourceAttempt, SourceRequest } from '../../ports.js';
import type { AdmittedCall } from '../call.js';
import { type Delivery, type ResponseRelay, UNUSABLE } from '../relay/delivery.js';
import type { AttemptJudge, AttemptOutcome } from './attempt-judge.js';
import type { AttemptLimits, Limit } from './attempt-limits.js';

/**
 * The phase of one attempt.
 * - `credential`: nothing was sent; the attempt waits for a token or signature.
 * - `head`: no response head has arrived.
 * - `error_body`: the body of an error response is read.
 * - `relay`: the response is relayed to the client.
 * - `rest`: the attempt has its result; trailing bytes are read so that the connection can be
 * reused.
 * - `over`: events of the source are ignored.
 */
export type AttemptPhase = 'credential' | 'head' | 'error_body' | 'relay' | 'rest' | 'over';

/** Events of an attempt, by their origin. */
type SourceEvent = 'authorized' | 'head' | 'data' | 'end' | 'failed';
/** From the relay while it has the body. */
type RelayEvent = 'begun' | 'first_event' | 'kept_back' | 'ended' | 'incomplete' | 'provider_failed' | 'pause';
/** The client leaves, reads nothing for too long, or reads again. */
type ClientEvent = 'left' | 'stalled' | 'drained';
/** `stopped`: from outside. `expired`: from the active limit. */
export type AttemptEvent = SourceEvent | RelayEvent | ClientEvent | 'stopped' | 'expired';

const OVER: readonly AttemptPhase[] = ['over'];
const RELAY: readonly AttemptPhase[] = ['relay'];

/**
 * The possible next phases for each event. An event without an
 * entry has no effect in that phase: it comes late, or cannot occur.
 */
export const TRANSITIONS: Readonly<
  Record<AttemptPhase, Readonly<Partial<Record<AttemptEvent, readonly AttemptPhase[]>>>>
> = {
  credential: { authorized: ['head'], failed: OVER, left: OVER, stopped: OVER, expired: OVER },
  head: { head: ['error_body', 'relay', 'rest'], failed: OVER, left: ['head', 'over'], stopped: OVER, expired: OVER },
  error_body: { data: ['error_body', 'rest'], end: OVER, failed: OVER, stopped: OVER, expired: ['rest'] },
  relay: {
    data: ['relay', 'rest', 'over'],
    end: OVER,
    failed: OVER,
    begun: RELAY,
    first_event: RELAY,
    kept_back: RELAY,
    ended: ['rest', 'over'],
    incomplete: OVER,
    provider_failed: ['relay', 'over'],
    pause: RELAY,
    left: ['relay', 'over'],
    stalled: OVER,
    drained: RELAY,
    stopped: OVER,
    expired: OVER,
  },
  rest: { data: ['rest', 'over'], end: OVER, failed: OVER, stalled: OVER, drained: ['rest'], expired: OVER },
  over: { drained: OVER },
};

/**
 * Bytes that are read after the result of an attempt is known, to keep the connection. After that
 * the connection is closed.
 */
const REST_BYTES_MAX = 64 * 1024;

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
 * The state of one attempt. Only the methods of this class change the phase, each as {@link
 * TRANSITIONS} permits.
 */
export class AttemptState {
  readonly judge: AttemptJudge;
  readonly limits: AttemptLimits;
  readonly #call: AdmittedCall;
  readonly #opened: DecryptedSource;
  readonly #context: AttemptContext;
  readonly #resolve: (outcome: AttemptOutcome) => void;
  #phase: AttemptPhase = 'head';
  /** The request that waits for its credential. */
  #unsent: SourceRequest | null = null;
  /** Credential of the request; null: the source's fixed headers. */
  #authorized: AuthorizationHeaders | null = null;
  /** Null before the request is sent, and after the source has ended the response. */
  exchange: SourceAttempt | null = null;
  isSent = false;
  #firstByteMs: number | null = null;
  /** When the request was passed to a connection, since the start of the attempt. */
  #passedAtMs: number | null = null;
  relay: ResponseRelay | null = null;
  /** A stream has shown its first event. */
  hasEvent = false;
  /** Bytes of generated text that the client had received when it left. */
  leftAtBytes = Infinity;
  /** The relay of a complete response. Receives the bytes that the provider still sends. */
  #follower: ResponseRelay | null = null;
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(
    call: AdmittedCall,
    opened: DecryptedSource,
    context: AttemptContext,
    judge: AttemptJudge,
    limits: AttemptLimits,
    resolve: (outcome: AttemptOutcome) => void,
  ) {
    this.#call = call;
    this.#opened = opened;
    this.#context = context;
    this.judge = judge;
    this.limits = limits;
    this.#resolve = resolve;
  }

  get phase(): AttemptPhase {
    return this.#phase;
  }

  /** The client has received the first bytes of a response of this source. */
  get hasBegun(): boolean {
    return this.relay?.hasBegun === true;
  }

  /** Whether the event has an effect in this phase. */
  takes(event: AttemptEvent): boolean {
    return TRANSITIONS[this.#phase][event] !== undefined;
  }

  /** The request waits for its credential. */
  awaitCredential(request: SourceRequest): void {
    this.#phase = 'credential';
    this.#unsent = request;
  }

  /** Returns the request with its credential; null: the attempt has ended. */
  authorize(authorized: AuthorizationHeaders): SourceRequest | null {
    const request = this.#unsent;
    if (!this.takes('authorized') || request === null) return null;
    this.#unsent = null;
    this.#authorized = authorized;
    this.#phase = 'head';
    this.limits.watchHead();
    return { ...request, headers: request.headers.concat(authorized.headers) };
  }

  /** The request is passed to a connection next. */
  passing(): void {
    this.#passedAtMs = this.limits.elapsedMs;
  }

  /** The request was passed to a connection. The attempt may have ended meanwhile. */
  connected(exchange: SourceAttempt): void {
    if (this.#phase === 'over') exchange.abort();
    else this.exchange = exchange;
  }

  /** The response is an error, whose body is read. */
  readErrorBody(): void {
    this.#phase = 'error_body';
    this.limits.watchErrorBody(() => this.concludeErrorBody());
  }

  /** The response is relayed to the client. */
  beginRelay(): void {
    this.#phase = 'relay';
    this.#firstByteMs = this.limits.elapsedMs;
    this.limits.resetSilence();
    this.watchBody();
  }

  /** Sets the limit for the relayed body, unless it is already complete. */
  watchBody(): void {
    if (this.exchange === null) return;
    if (!this.#call.parsed.stream) this.limits.watchDeadline();
    else if (this.hasEvent) this.limits.watchSilence();
    else this.limits.watchFirstEvent();
  }

  /** Keeps a part of the error body. */
  keepErrorBody(chunk: Buffer): void {
    this.#rest.push(chunk);
    this.#restBytes += chunk.length;
    if (this.#restBytes >= ERROR_BODY_BYTES_MAX) this.concludeErrorBody();
  }

  concludeErrorBody(): void {
    const judged = this.judge.refusal(Buffer.concat(this.#rest).subarray(0, ERROR_BODY_BYTES_MAX));
    this.conclude(judged, null);
    if (this.exchange === null) this.hangUp();
    else this.readRest(null);
  }

  /** Resolves with the result. Only trailing bytes are read from now on. */
  conclude(judged: AttemptJudgment, delivery: Delivery | null): void {
    if (this.#phase === 'over' || this.#phase === 'rest') return;
    this.limits.cancel();
    this.#phase = 'rest';
    this.#unsent = null;
    if (this.#authorized !== null)
      this.#opened.authorizer?.judged(this.#authorized.version, judged, this.#call.account);
    this.#call.onEnded = null;
    if (delivery === null) this.relay?.drop();
    this.relay = null;
    const sourceMs = this.#passedAtMs === null ? 0 : this.limits.elapsedMs - this.#passedAtMs;
    this.#resolve({ judged, delivery, firstByteMs: this.#firstByteMs, sourceMs });
  }

  /**
   * Reads the trailing bytes of the response, within limits, so that the connection can be reused.
   */
  readRest(follower: ResponseRelay | null): void {
    this.#follower = follower;
    if (this.exchange === null) return this.hangUp();
    this.#restBytes = 0;
    this.#rest = [];
    if (this.limits.isPaused) this.exchange.resume();
    this.limits.watchRest(() => this.hangUp());
  }

  takeRest(chunk: Buffer): void {
    this.#follower?.data(chunk);
    this.#restBytes += chunk.length;
    if (this.#restBytes > REST_BYTES_MAX) this.hangUp();
  }

  endRest(openEnded: boolean): void {
    this.#follower?.end(openEnded);
    this.hangUp();
  }

  /** Ends the attempt because the client has left, or reads nothing. */
  abandon(): void {
    // If a cancel stops the billing, a cancel before the response costs nothing. A non-streamed
    // response is complete before its head is sent, so it is charged.
    const { cancelStopsBilling } = this.#opened.source;
    const { relay } = this;
    const hasAnswer = relay !== null && (relay.hasBegun || relay.hasText || !this.#call.parsed.stream);
    if (relay !== null && (hasAnswer || !cancelStopsBilling)) return relay.stop('client_disconnected', null);
    const sent = this.isSent && !cancelStopsBilling;
    this.conclude(this.judge.result({ kind: 'abandoned', sent }), null);
    this.hangUp();
  }

  /** Ends the attempt because of a time limit. */
  expire(limit: Limit): void {
    if (limit === 'deadline' && this.limits.hasClientDelayedResponse()) this.abandon();
    else this.breakOff({ kind: 'timed_out', limit, sent: this.isSent });
  }

  /** Ends the attempt because the call was stopped from outside. */
  stop(error: GatewayError): void {
    if (this.takes('stopped')) this.breakOff({ kind: 'stopped', sent: this.isSent, error });
  }

  /** Ends the attempt because of an exception in the edge. It counts as an unusable response. */
  fail(): void {
    const judged = this.judge.result(UNUSABLE);
    const cut: Delivery = { ended: 'cut', meter: null, lastPiece: null, error: judged.error };
    const { hasBegun } = this;
    this.relay?.drop();
    this.conclude(judged, hasBegun ? cut : null);
    this.hangUp();
  }

  /** Ends the attempt without a complete response. */
  breakOff(result: AttemptResult): void {
    this.breakOffBy(this.judge.result(result));
  }

  breakOffBy(judged: AttemptJudgment): void {
    if (this.relay?.hasBegun === true) {
      this.judge.cutBy(judged);
      this.relay.stop('cut', judged.error);
    } else this.conclude(judged, null);
    this.hangUp();
  }

  /** Ends the use of the connection. */
  hangUp(): void {
    if (this.#phase !== 'over') this.#context.over();
    this.#phase = 'over';
    this.limits.cancel();
    this.exchange?.abort();
    this.exchange = null;
  }
}
