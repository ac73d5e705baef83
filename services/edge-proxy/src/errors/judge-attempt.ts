import { gatewayError } from '@gateway/contracts/errors';
import type { GatewayError } from '@gateway/contracts/errors';
import type { AttemptRecord } from '@gateway/contracts/messages';
import type { ErrorRule } from '@gateway/contracts/operator';
import type { EndpointStyle } from '../formats/endpoints.js';
import { CLASS_RULES } from './class-rules.js';
import { classifyError, type ClassifiedError, type ErrorClass } from './error-class.js';
import { clientError } from './provider-error.js';
import { textWaitMs, wholeSeconds } from './retry-after.js';
import { readErrorBody, type SaidError } from './said-error.js';

/** Bytes of a provider's error body that are read for its text. */
export const ERROR_BODY_BYTES_MAX = 64 * 1024;
/**
 * Rest of a source after a 429 without Retry-After, and the longest one
 * (docs/behaviour.md#source-order).
 */
export const COOL_DOWN_DEFAULT_MS = 5_000;
export const COOL_DOWN_MS_MAX = 600_000;

/**
 * Longest wait before the one retry of a lone source, and the wait where the provider states none
 * (docs/behaviour.md#failover).
 */
export const RETRY_MS_MAX = 2_000;
export const RETRY_DEFAULT_MS = 1_000;
const STATUS_UNAVAILABLE = 503;
const STATUS_OVERLOADED = 529;

/** How one try of one source went, before anything is concluded from it. */
export type AttemptResult =
  | {
      /** A response head arrived (200 too: whether it is usable is judged here). */
      readonly kind: 'answered';
      readonly status: number;
      /** The wait that its headers state, milliseconds. */
      readonly waitMs: number | undefined;
      readonly contentType: string | undefined;
      /** What the body is still encoded with: undefined or `identity` once it is decoded. */
      readonly contentEncoding: string | undefined;
      /** A header that names the error. */
      readonly errorType?: string | undefined;
      /**
       * Of answers other than 200, and of a 200 that is no stream although one was asked for: the
       * first {@link ERROR_BODY_BYTES_MAX} bytes; otherwise may be empty.
       */
      readonly bodyStart: Buffer;
    }
  /** Refused, DNS, TLS, connect time-out: nothing was sent. */
  | { readonly kind: 'unreachable' }
  /**
   * `headers`, `first_event`: the source's own limit, nothing went to the client yet. `silence`:
   * inside the body. `deadline`: the 600 s. Not `sent`: the connection was still being made.
   */
  | {
      readonly kind: 'timed_out';
      readonly limit: 'headers' | 'first_event' | 'silence' | 'deadline';
      readonly sent: boolean;
    }
  /** After the request was sent, before the first response byte. */
  | { readonly kind: 'broken_before_head'; readonly reusedConnection: boolean }
  /** After the response head, by the network. */
  | { readonly kind: 'broken_in_body' }
  /** A provider's error inside a stream, or as a whole answer with status 200. */
  | {
      readonly kind: 'provider_error';
      readonly said: SaidError | null;
      /** The wait that the response's headers state, milliseconds. */
      readonly waitMs?: number | undefined;
    }
  /**
   * No answer: a complete plain body that is none (`MeterResult.finished` false), a stream without
   * events, an event too long.
   */
  | { readonly kind: 'unusable_body' }
  /** The client left. `sent`: the request had gone to the source. */
  | { readonly kind: 'abandoned'; readonly sent: boolean }
  /**
   * The gateway ends the call: the account is suspended, or this process stops. The source has no
   * part in it.
   */
  | { readonly kind: 'stopped'; readonly sent: boolean; readonly error: GatewayError };

export interface AttemptFacts {
  readonly style: EndpointStyle;
  /** The client asked for a stream. */
  readonly streamed: boolean;
  /** The name under which the source knows the model. */
  readonly upstreamModel: string;
  /** What its provider's errors mean, where that is special. */
  readonly errorRules?: readonly ErrorRule[] | undefined;
  /**
   * What else could let the request in. `token`: another one, before a refusal counts. `key`:
   * another of the source's keys; `key_later`: that too, but this call has had its second try.
   * Absent: nothing.
   */
  readonly other?: 'token' | 'key' | 'key_later' | undefined;
}

export interface JudgedAttempt {
  /**
   * As long as nothing went to the client. `final` with `error` null: the answer is usable, or
   * nobody waits for it.
   */
  readonly step: 'next_source' | 'fresh_connection' | 'fresh_credential' | 'final';
  readonly outcome: AttemptRecord['outcome'];
  /** The provider's status, null if none came. */
  readonly status: number | null;
  /** The provider may charge for it although no complete answer came. */
  readonly possiblyPaid: boolean;
  /** What the client gets if this attempt decides. */
  readonly error: GatewayError | null;
  /** The source rests that long; null: it does not. */
  readonly coolDownMs: number | null;
  /** Wait before the retry, if the call has no other source; null: there is no retry. */
  readonly retryInMs: number | null;
  /** Counts toward the source's breaker. */
  readonly countsAsFailure: boolean;
  /** A provider was reached: its word goes before `upstream_unreachable`. */
  readonly reached: boolean;
  /**
   * The source cannot serve us: it rests for long, and its operator is told. `unclear`: a client
   * may have caused it by what it sent, so that several accounts have to meet it first.
   */
  readonly refusal: 'certain' | 'unclear' | null;
  /** Of several keys of the source this one gets that, and the source nothing of it. */
  readonly keyRest?: Pick<JudgedAttempt, 'coolDownMs' | 'refusal'>;
  /** What the provider said that it is about; null when it said nothing. */
  readonly errorClass: ErrorClass | null;
  /** Its own words, not cleaned. */
  readonly said: SaidError | null;
}

/** The provider gave up waiting: what it waited for may have been computed. */
const PAID_STATUSES: ReadonlySet<number> = new Set([408, 504, 524]);

const NOTHING: JudgedAttempt = {
  step: 'final',
  outcome: 'completed',
  status: null,
  possiblyPaid: false,
  error: null,
  coolDownMs: null,
  retryInMs: null,
  countsAsFailure: false,
  reached: true,
  refusal: null,
  errorClass: null,
  said: null,
};

const UNREACHED = { outcome: 'unreachable', possiblyPaid: false, reached: false } as const;

/**
 * What follows from one attempt (docs/behaviour.md#failover): the next step, the record, the error,
 * and what the source gets for it.
 */
export function judgeAttempt(result: AttemptResult, facts: AttemptFacts): JudgedAttempt {
  if (result.kind === 'answered') return judgeAnswer(result, facts);
  const failed = { ...NOTHING, countsAsFailure: true, possiblyPaid: true, error: gatewayError('upstream_timeout') };
  switch (result.kind) {
    case 'unreachable':
      return { ...failed, ...UNREACHED, step: 'next_source', error: gatewayError('upstream_unreachable') };
    case 'timed_out': {
      const isOwnLimit = result.limit === 'headers' || result.limit === 'first_event';
      const step = isOwnLimit ? 'next_source' : 'final';
      if (result.sent) return { ...failed, step, outcome: 'timed_out' };
      return { ...failed, ...UNREACHED, step, error: gatewayError('upstream_unreachable') };
    }
    case 'broken_before_head':
      return result.reusedConnection
        ? { ...failed, step: 'fresh_connection', outcome: 'broken', countsAsFailure: false }
        : { ...failed, step: 'next_source', outcome: 'broken' };
    case 'broken_in_body':
      return { ...failed, step: 'next_source', outcome: 'broken' };
    case 'provider_error':
      return {
        ...judgeError(result.said, null, facts, result.waitMs, undefined),
        outcome: 'broken',
        possiblyPaid: true,
      };
    case 'unusable_body':
      return { ...failed, step: 'next_source', outcome: 'broken', error: unusable() };
    case 'abandoned':
      return { ...NOTHING, outcome: 'abandoned', possiblyPaid: result.sent, reached: result.sent };
    case 'stopped': {
      const { sent, error } = result;
      return { ...NOTHING, outcome: 'abandoned', possiblyPaid: sent, reached: sent, error };
    }
  }
}

/**
 * The answer when no source is left, or the last one was final: the word of the last, if that is
 * final; else the most useful one, which may be repeated (429, 5xx), before one that may not; of
 * its kind the last. `upstream_unreachable` only if none was reached.
 */
export function finalError(attempts: readonly JudgedAttempt[]): GatewayError {
  const reached = attempts.filter(({ reached, error }) => reached && error !== null);
  const last = reached.at(-1);
  const isFinal = last !== undefined && last === attempts.at(-1) && last.step === 'final';
  const decides = isFinal ? last : (reached.findLast(({ error }) => mayBeRepeated(error)) ?? last);
  return decides?.error ?? gatewayError('upstream_unreachable');
}

function mayBeRepeated(error: GatewayError | null): boolean {
  return error !== null && (error.status === 429 || error.status >= 500);
}

type Answer = Extract<AttemptResult, { kind: 'answered' }>;

function judgeAnswer(answer: Answer, facts: AttemptFacts): JudgedAttempt {
  const { status } = answer;
  if (status === 200 && isUsable(answer, facts.streamed)) return { ...NOTHING, status };
  const said = isDecoded(answer) ? readErrorBody(answer.bodyStart) : null;
  if (status !== 200) {
    const judged = withOther(judgeError(said, status, facts, answer.waitMs, answer.errorType), status, facts);
    return { ...judged, outcome: 'rejected', status, possiblyPaid: PAID_STATUSES.has(status) || status < 300 };
  }
  const failed = { outcome: 'broken', status, possiblyPaid: true } as const;
  if (said !== null) return { ...judgeError(said, null, facts, answer.waitMs, answer.errorType), ...failed };
  return { ...NOTHING, ...failed, step: 'next_source', error: unusable(), countsAsFailure: true };
}

/**
 * What follows from a provider's error, by its class. @param status of the answer; null inside a
 * stream, and of a 200
 */
function judgeError(
  said: SaidError | null,
  status: number | null,
  facts: AttemptFacts,
  headerWaitMs: number | undefined,
  errorType: string | undefined,
): JudgedAttempt {
  const classified = classifyError({
    status,
    said,
    errorType,
    upstreamModel: facts.upstreamModel,
    rules: facts.errorRules,
  });
  const rule = CLASS_RULES[classified.class];
  const waitMs = headerWaitMs ?? bodyWaitMs(said);
  const isQuota = rule.rest === 'cool_down';
  return {
    ...NOTHING,
    step: rule.next ? 'next_source' : 'final',
    outcome: 'rejected',
    error: clientError(classified, facts.style, said, waitMs === undefined ? undefined : wholeSeconds(waitMs)),
    coolDownMs: isQuota ? coolDownMs(waitMs) : null,
    retryInMs: retryInMs(classified, status, waitMs),
    countsAsFailure: rule.countsAsFailure,
    refusal: rule.rest !== 'refused' ? null : classified.certain ? 'certain' : 'unclear',
    errorClass: classified.class,
    said,
  };
}

/** Statuses that say that a credential lets nobody in. */
function isRefusal(status: number): boolean {
  return status === 401 || status === 403;
}

/** Errors that another key of the same source may not meet. */
const OF_KEYS: ReadonlySet<ErrorClass | null> = new Set(['credential', 'funds', 'forbidden', 'quota']);

/**
 * A token that expires is replaced once before a refusal counts, and a key of several rests alone.
 * What a 403 says of the body or of what it holds is no word about us.
 */
function withOther(judged: JudgedAttempt, status: number, { other }: AttemptFacts): JudgedAttempt {
  const { coolDownMs, refusal, errorClass } = judged;
  switch (other) {
    case undefined:
      return judged;
    case 'token':
      return isRefusal(status) && refusal !== null ? { ...judged, step: 'fresh_credential', refusal: null } : judged;
    case 'key':
    case 'key_later': {
      if (!OF_KEYS.has(errorClass)) return judged;
      const step = other === 'key' ? 'fresh_credential' : 'next_source';
      return { ...judged, step, coolDownMs: null, refusal: null, keyRest: { coolDownMs, refusal } };
    }
  }
}

function unusable(): GatewayError {
  return gatewayError('upstream_error', "The model's provider sent an answer that cannot be read.");
}

/** The kind of body that was asked for, decoded. */
function isUsable(answer: Answer, streamed: boolean): boolean {
  return (
    isDecoded(answer) &&
    (streamed ? mediaTypeOf(answer.contentType) === 'text/event-stream' : isJson(answer.contentType))
  );
}

export function isJson(contentType: string | undefined): boolean {
  const mediaType = mediaTypeOf(contentType);
  return mediaType === 'application/json' || (mediaType.startsWith('application/') && mediaType.endsWith('+json'));
}

function mediaTypeOf(contentType: string | undefined): string {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function isDecoded({ contentEncoding }: Answer): boolean {
  const encoding = contentEncoding?.trim().toLowerCase() ?? '';
  return encoding === '' || encoding === 'identity';
}

/** The longer one of `RetryInfo`, which Google rounds down, and of the text. */
function bodyWaitMs(said: SaidError | null): number | undefined {
  const waits = [said?.waitMs, textWaitMs(said?.message ?? null)].filter((ms) => ms !== undefined);
  return waits.length === 0 ? undefined : Math.max(...waits);
}

/** In whole seconds, at least one: a wait of 0 does not end the cooldown of a limited source. */
function coolDownMs(waitMs: number | undefined): number {
  return waitMs === undefined ? COOL_DOWN_DEFAULT_MS : Math.min(wholeSeconds(waitMs) * 1_000, COOL_DOWN_MS_MAX);
}

/**
 * The wait before a retry of a refusal that ends by itself; null: it is not retried.
 * @param status of the response; null: the error came inside a response
 */
function retryInMs({ class: kind }: ClassifiedError, status: number | null, waitMs: number | undefined): number | null {
  if (status === null) return null;
  const isBusy = kind === 'quota' || (kind === 'overload' && status === STATUS_OVERLOADED);
  const isDown = kind === 'overload' && status === STATUS_UNAVAILABLE && waitMs !== undefined;
  if (!isBusy && !isDown) return null;
  const ms = waitMs ?? RETRY_DEFAULT_MS;
  return ms <= RETRY_MS_MAX ? ms : null;
}
