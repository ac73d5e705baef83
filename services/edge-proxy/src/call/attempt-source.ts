import type { GatewayError } from '@gateway/contracts/errors';
import { addsStreamUsage } from '../domain/forward-body.js';
import { READERS } from '../domain/formats/readers.js';
import { ERROR_BODY_BYTES_MAX, judgeAttempt, type AttemptResult, type JudgedAttempt } from '../domain/judge-attempt.js';
import { readsErrorText } from '../domain/provider-error.js';
import type { OpenedSource, SourceExchange, SourceFailure, SourceReader } from '../ports.js';
import { lengthOf, one, plainHeaders, streamHeaders, type SourceHeaders } from './answer-headers.js';
import { AttemptLimits } from './attempt-limits.js';
import { callTime, type AdmittedCall, type Edge } from './call.js';
import type { AnswerRelay, Delivery, RelayEvents } from './delivery.js';
import { PlainRelay } from './relay-plain.js';
import { StreamRelay } from './relay-stream.js';
import { sourceRequest } from './source-request.js';

/** How one try of one source has ended: with an answer that was relayed, or with a judgement only. */
export interface Tried {
  readonly judged: JudgedAttempt;
  readonly delivery: Delivery | null;
}

/** After an answer was judged, so much of its rest is read to keep the connection; then it is closed. */
const REST_BYTES_MAX = 64 * 1024;
const REST_MS_MAX = 5_000;
/** How long the text of a refusal is waited for: what came until then is enough. */
const ERROR_BODY_MS_MAX = 2_000;
/**
 * With more running calls a complete plain body is sent in one piece, when its record is stored: the first byte comes a
 * little later, and the edge saves a tenth of its work.
 */
const EARLY_CALLS_MAX = 8;

/**
 * One try of one source. A usable answer is relayed while it comes; the promise resolves when nothing but its last piece
 * is left, or when the try has failed. Never rejects.
 */
export function attemptSource(
  edge: Edge,
  call: AdmittedCall,
  body: Buffer,
  opened: OpenedSource,
  freshConnection: boolean,
): Promise<Tried> {
  return new Promise((resolve) => {
    const attempt = new Attempt(edge, call, opened, resolve);
    attempt.start(body, freshConnection);
  });
}

type Phase = 'head' | 'error_body' | 'relay' | 'rest' | 'over';

class Attempt implements SourceReader, RelayEvents {
  readonly #edge: Edge;
  readonly #call: AdmittedCall;
  readonly #opened: OpenedSource;
  readonly #resolve: (tried: Tried) => void;
  #exchange: SourceExchange | null = null;
  #phase: Phase = 'head';
  #isSent = false;
  #isPaused = false;
  readonly #limits: AttemptLimits;
  #relay: AnswerRelay | null = null;
  /** Of the head. */
  #judged: JudgedAttempt | null = null;
  /** Of what cut the answer, if anything but the provider's own word did. */
  #cutBy: JudgedAttempt | null = null;
  #head: { status: number; headers: SourceHeaders } | null = null;
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(edge: Edge, call: AdmittedCall, opened: OpenedSource, resolve: (tried: Tried) => void) {
    this.#edge = edge;
    this.#call = call;
    this.#opened = opened;
    this.#resolve = resolve;
    this.#limits = new AttemptLimits(edge.deadlines, {
      source: opened.source.limits,
      deadlineAtMs: call.deadlineAt,
      silenceMs: edge.settings.upstreamDeadlineMs,
      expired: (limit) => this.#breakOff({ kind: 'timed_out', limit, sent: this.#isSent }),
    });
  }

  start(body: Buffer, freshConnection: boolean): void {
    this.#limits.watchHead();
    this.#call.request.answer.onGone(() => this.#clientLeft());
    this.#call.onEnded = (error) => this.#stop(error);
    const exchange = this.#edge.sources.send(sourceRequest(this.#call, body, this.#opened, freshConnection), this);
    if (this.#phase === 'over') exchange.abort();
    else this.#exchange = exchange;
  }

  sent(): void {
    this.#isSent = true;
  }

  head(status: number, headers: SourceHeaders): void {
    if (this.#phase !== 'head') return;
    this.#head = { status, headers };
    const judged = this.#judge(this.#answered(Buffer.alloc(0)));
    if (status === 200 && judged.error === null) return this.#relayBody(judged, headers);
    if (judged.step === 'final' && readsErrorText(status)) {
      this.#phase = 'error_body';
      return this.#limits.in(ERROR_BODY_MS_MAX, () => this.#concludeErrorBody());
    }
    this.#conclude(judged, null);
    this.#readRest();
  }

  data(chunk: Buffer): void {
    switch (this.#phase) {
      case 'relay':
        this.#limits.heard();
        return this.#relay?.data(chunk);
      case 'error_body':
        this.#rest.push(chunk);
        this.#restBytes += chunk.length;
        if (this.#restBytes >= ERROR_BODY_BYTES_MAX) this.#concludeErrorBody();
        return;
      case 'rest':
        this.#restBytes += chunk.length;
        if (this.#restBytes > REST_BYTES_MAX) this.#hangUp();
        return;
      case 'head':
      case 'over':
        return;
    }
  }

  end(): void {
    const phase = this.#phase;
    this.#exchange = null;
    if (phase === 'relay') this.#relay?.end();
    else if (phase === 'error_body') this.#concludeErrorBody();
    if (this.#phase === 'rest') this.#hangUp();
  }

  failed(failure: SourceFailure): void {
    const phase = this.#phase;
    this.#exchange = null;
    if (phase === 'rest' || phase === 'over') return this.#hangUp();
    if (phase === 'error_body') return this.#concludeErrorBody();
    this.#edge.log.debug({ requestId: this.#call.id, source: this.#opened.source.id, ...failure }, 'an attempt broke');
    this.#breakOff(resultOfFailure(failure));
  }

  begun(): void {
    this.#call.body = null;
    if (!this.#call.request.answer.isGone) this.#call.firstByteAt = callTime(this.#edge, this.#call);
    this.#watchBody();
  }

  ended(delivery: Delivery): void {
    const isGone = this.#call.request.answer.isGone;
    const ended = isGone ? { ...delivery, ended: 'client_left' as const } : delivery;
    this.#conclude(this.#judgeEnd(delivery, isGone), ended);
    if (delivery.ended === 'complete') this.#readRest();
    else this.#hangUp();
  }

  unusable(): void {
    this.#breakOff({ kind: 'unusable_body' });
  }

  pause(): void {
    if (this.#isPaused || this.#exchange === null) return;
    this.#isPaused = true;
    this.#exchange.pause();
    this.#limits.watchClient(() => this.#abandon());
  }

  /** The client has read what it was sent, or has left. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#phase !== 'relay') return;
    this.#limits.heard();
    this.#watchBody();
    this.#exchange?.resume();
  }

  /** From the first byte to the client on. An answer that is complete when it begins has nothing to watch for. */
  #watchBody(): void {
    if (this.#exchange === null || this.#call.request.answer.isGone) return;
    if (this.#call.parsed.stream) this.#limits.watchSilence();
    else this.#limits.watchDeadline();
  }

  #relayBody(judged: JudgedAttempt, headers: SourceHeaders): void {
    this.#judged = judged;
    this.#phase = 'relay';
    this.#limits.heard();
    const { answer } = this.#call.request;
    if (!answer.isGone) this.#watchFirstByte();
    const reader = READERS[this.#call.row.format];
    answer.onDrain(() => this.resume());
    if (this.#call.parsed.stream) {
      const dropUsageFrame = addsStreamUsage(this.#call.parsed, this.#opened.source.streamUsage);
      const metering = { dropUsageFrame, choices: this.#call.parsed.choices };
      const requestId = this.#call.id;
      const relayed = streamHeaders(headers);
      this.#relay = new StreamRelay({ answer, headers: relayed, reader, metering, requestId, events: this });
    } else {
      const contentLength = lengthOf(headers['content-length']);
      const sendsEarly = (): boolean => this.#edge.running.size <= EARLY_CALLS_MAX;
      const relayed = plainHeaders(headers);
      this.#relay = new PlainRelay({ answer, headers: relayed, contentLength, reader, events: this, sendsEarly });
    }
  }

  #watchFirstByte(): void {
    if (this.#call.parsed.stream) this.#limits.watchFirstEvent();
    else this.#limits.watchDeadline();
  }

  #clientLeft(): void {
    if (this.#phase !== 'head' && this.#phase !== 'relay') return;
    const { held } = this.#call;
    // Of a call that nobody pays for there is nothing to read on for.
    if (this.#opened.source.cancelStopsBilling || !this.#isSent || held === null) return this.#abandon();
    this.resume();
    this.#limits.watchReadOn(this.#edge.settings.readOnMs, this.#phase === 'relay', () => this.#abandon());
  }

  #abandon(): void {
    if (this.#relay !== null) return this.#relay.stop('client_left', null);
    this.#conclude(this.#judge({ kind: 'abandoned', sent: this.#isSent }), null);
    this.#hangUp();
  }

  /** The call is ended from outside. */
  #stop(error: GatewayError): void {
    if (this.#phase === 'over' || this.#phase === 'rest') return;
    this.#breakOff({ kind: 'stopped', sent: this.#isSent, error });
  }

  /** Ends the attempt without a complete answer. */
  #breakOff(result: AttemptResult): void {
    const judged = this.#judge(result);
    if (this.#relay?.hasBegun === true) {
      this.#cutBy = judged;
      this.#relay.stop('cut', judged.error);
    } else this.#conclude(judged, null);
    this.#hangUp();
  }

  #concludeErrorBody(): void {
    if (this.#phase !== 'error_body') return;
    const judged = this.#judge(this.#answered(Buffer.concat(this.#rest).subarray(0, ERROR_BODY_BYTES_MAX)));
    this.#conclude(judged, null);
    if (this.#exchange === null) this.#hangUp();
    else this.#readRest();
  }

  #conclude(judged: JudgedAttempt, delivery: Delivery | null): void {
    if (this.#phase === 'over' || this.#phase === 'rest') return;
    this.#limits.cancel();
    this.#phase = 'rest';
    this.#call.onEnded = null;
    this.#relay = null;
    this.#resolve({ judged, delivery });
  }

  /** Lets the provider finish what it is sending, within bounds, so that the connection can be used again. */
  #readRest(): void {
    if (this.#exchange === null) return this.#hangUp();
    this.#restBytes = 0;
    this.#rest = [];
    if (this.#isPaused) this.#exchange.resume();
    this.#limits.in(REST_MS_MAX, () => this.#hangUp());
  }

  #hangUp(): void {
    this.#phase = 'over';
    this.#limits.cancel();
    this.#exchange?.abort();
    this.#exchange = null;
  }

  #answered(bodyStart: Buffer): AttemptResult {
    const { status, headers } = this.#head ?? { status: 0, headers: {} };
    return {
      kind: 'answered',
      status,
      retryAfter: one(headers['retry-after']),
      contentType: one(headers['content-type']),
      contentEncoding: one(headers['content-encoding']),
      bodyStart,
    };
  }

  #judge(result: AttemptResult): JudgedAttempt {
    const facts = {
      style: this.#call.row.style,
      streamed: this.#call.parsed.stream,
      nowMs: this.#edge.clock.nowMs(),
    };
    return judgeAttempt(result, facts);
  }

  #judgeEnd({ ended }: Delivery, isGone: boolean): JudgedAttempt {
    if (ended === 'complete' && this.#judged !== null) return this.#judged;
    if (ended === 'client_left' || isGone) return this.#judge({ kind: 'abandoned', sent: true });
    return this.#cutBy ?? this.#judge({ kind: 'broken_in_body' });
  }
}

function resultOfFailure({ kind, reused }: SourceFailure): AttemptResult {
  switch (kind) {
    case 'unreachable':
      return { kind: 'unreachable' };
    case 'unanswered':
      return { kind: 'broken_before_head', reusedConnection: reused };
    case 'broken':
      return { kind: 'broken_in_body' };
  }
}
