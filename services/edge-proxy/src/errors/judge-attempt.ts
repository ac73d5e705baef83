import { gatewayError } from '@gateway/contracts/errors';
import type { GatewayError } from '@gateway/contracts/errors';
import type { AttemptRecord } from '@gateway/contracts/messages';
import type { ErrorRule } from '@gateway/contracts/operator';
import type { EndpointStyle } from '../formats/endpoints.js';
import { CLASS_RULES } from './class-rules.js';
import { classifyError, type ClassifiedError, type ErrorClass } from './error-class.js';
import { buildClientError } from './provider-error.js';
import { parseTextWaitMs, toWholeSeconds } from './retry-after.js';
import { readErrorBody, type ReportedError } from './reported-error.js';

/** Maximum bytes of a provider's error body that are read. */
export const ERROR_BODY_BYTES_MAX = 64 * 1024;
/**
 * Cooldown of a source after a 429 without Retry-After, and the longest cooldown
 * (docs/behaviour.md#source-order).
 */
export const COOL_DOWN_DEFAULT_MS = 5_000;
export const COOL_DOWN_MS_MAX = 600_000;

/**
 * Longest wait before the only retry of a request with a single source, and the wait if the
 * provider states none (docs/behaviour.md#failover).
 */
export const RETRY_MS_MAX = 2_000;
export const RETRY_DEFAULT_MS = 1_000;
const STATUS_UNAVAILABLE = 503;
const STATUS_OVERLOADED = 529;

/** The result of one attempt at one source, before it is judged. */
export type AttemptResult =
  | {
      /** A response head arrived, of any status: this module decides whether a 200 is usable. */
      readonly kind: 'answered';
      readonly status: number;
      /** Wait stated by its headers, in milliseconds. */
      readonly waitMs: number | undefined;
      readonly contentType: string | undefined;
      /** Remaining encoding of the body: undefined or `identity` if it is decoded. */
      readonly contentEncoding: string | undefined;
      /** Value of a header that names the error. */
      readonly errorType?: string | undefined;
      /**
       * The first {@link ERROR_BODY_BYTES_MAX} bytes if the status is not 200, or if a stream was
       * requested and a 200 is not one. May be empty otherwise.
       */
      readonly bodyStart: Buffer;
    }
  /** Connection refused, DNS, TLS or connect timeout: nothing was sent. */
  | { readonly kind: 'unreachable' }
  /**
   * `headers`, `first_event`: a limit of the source, before anything was sent to the client.
   * `silence`: inside the body. `deadline`: the 600 s of the request. Not `sent`: still connecting.
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
  /** A provider's error inside a stream, or as a complete body with status 200. */
  | {
      readonly kind: 'provider_error';
      readonly reported: ReportedError | null;
      /** Wait stated by the response's headers, in milliseconds. */
      readonly waitMs?: number | undefined;
    }
  /**
   * A complete plain body that is not a response (`MeterResult.finished` false), a stream without
   * events, or an event that is too long.
   */
  | { readonly kind: 'unusable_body' }
  /** The client disconnected. `sent`: the request had been sent to the source. */
  | { readonly kind: 'abandoned'; readonly sent: boolean }
  /**
   * The gateway ends the request, because the account is suspended or this process stops. The
   * source is not the cause.
   */
  | { readonly kind: 'stopped'; readonly sent: boolean; readonly error: GatewayError };

export interface AttemptFacts {
  readonly style: EndpointStyle;
  /** The client requested a stream. */
  readonly streamed: boolean;
  /** The model's name at the source. */
  readonly upstreamModel: string;
  /** Rules for errors of this provider whose meaning differs from the usual one. */
  readonly errorRules?: readonly ErrorRule[] | undefined;
  /**
   * The credential that a second attempt at this source could use. `token`: a new token, before a
   * refusal counts. `key`: another of the source's keys. `key_later`: also another key, but this
   * request has already retried. Absent if there is none.
   */
  readonly other?: 'token' | 'key' | 'key_later' | undefined;
}

export interface AttemptJudgment {
  /**
   * The next step while nothing has been sent to the client. `final` with `error` null: the
   * response is usable, or the client has disconnected.
   */
  readonly step: 'next_source' | 'fresh_connection' | 'fresh_credential' | 'final';
  readonly outcome: AttemptRecord['outcome'];
  /** The provider's status; null if none arrived. */
  readonly status: number | null;
  /** The provider may charge for the attempt although no complete response arrived. */
  readonly possiblyPaid: boolean;
  /** The client's error if this attempt decides. */
  readonly error: GatewayError | null;
  /** Cooldown of the source; null if there is none. */
  readonly coolDownMs: number | null;
  /** Wait before the retry if the request has no other source; null if it is not retried. */
  readonly retryInMs: number | null;
  /** Counts toward the source's breaker. */
  readonly countsAsFailure: boolean;
  /** A provider was reached: its error has priority over `upstream_unreachable`. */
  readonly reached: boolean;
  /**
   * The source cannot serve the gateway's requests. It is tried last for a long time, and its
   * operator is notified. `unclear`: a client may have caused the refusal, so it counts only after
   * the source has refused several accounts.
   */
  readonly refusal: 'certain' | 'unclear' | null;
  /** The cooldown and refusal of one of several keys. The source itself gets neither. */
  readonly keyRest?: Pick<AttemptJudgment, 'coolDownMs' | 'refusal'>;
  /** The class of the provider's error; null if there is no error. */
  readonly errorClass: ErrorClass | null;
  /** The provider's error, not cleaned. */
  readonly reported: ReportedError | null;
}

/** Statuses of a provider's timeout: the output may have been computed. */
const PAID_STATUSES: ReadonlySet<number> = new Set([408, 504, 524]);

const NOTHING: AttemptJudgment = {
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
  reported: null,
};

const UNREACHED = { outcome: 'unreachable', possiblyPaid: false, reached: false } as const;

/**
 * Judges one attempt (docs/behaviour.md#failover): the next step, the record, the client's error,
 * and the consequences for the source.
 */
export function judgeAttempt(result: AttemptResult, facts: AttemptFacts): AttemptJudgment {
  if (result.kind === 'answered') return judgeResponse(result, facts);
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
        ...judgeError(result.reported, null, facts, result.waitMs, undefined),
        outcome: 'broken',
        possiblyPaid: true,
      };
    case 'unusable_body':
      return { ...failed, step: 'next_source', outcome: 'broken', error: createUnusableError() };
    case 'abandoned':
      return { ...NOTHING, outcome: 'abandoned', possiblyPaid: result.sent, reached: result.sent };
    case 'stopped': {
      const { sent, error } = result;
      return { ...NOTHING, outcome: 'abandoned', possiblyPaid: sent, reached: sent, error };
    }
  }
}

/**
 * Selects the client's error if no source is left, or if the last error is final. A final last
 * error has priority. Otherwise the last error that the client may retry (429, 5xx) is used, else
 * the last one. `upstream_unreachable` is used only if no source was reached.
 */
export function selectFinalError(attempts: readonly AttemptJudgment[]): GatewayError {
  const reached = attempts.filter(({ reached, error }) => reached && error !== null);
  const last = reached.at(-1);
  const isFinal = last !== undefined && last === attempts.at(-1) && last.step === 'final';
  const decides = isFinal ? last : (reached.findLast(({ error }) => isRetryable(error)) ?? last);
  return decides?.error ?? gatewayError('upstream_unreachable');
}

function isRetryable(error: GatewayError | null): boolean {
  return error !== null && (error.status === 429 || error.status >= 500);
}

type ProviderResponse = Extract<AttemptResult, { kind: 'answered' }>;

function judgeResponse(answer: ProviderResponse, facts: AttemptFacts): AttemptJudgment {
  const { status } = answer;
  if (status === 200 && isUsable(answer, facts.streamed)) return { ...NOTHING, status };
  const reported = isDecoded(answer) ? readErrorBody(answer.bodyStart) : null;
  if (status !== 200) {
    const judged = withOtherCredential(
      judgeError(reported, status, facts, answer.waitMs, answer.errorType),
      status,
      facts,
    );
    return { ...judged, outcome: 'rejected', status, possiblyPaid: PAID_STATUSES.has(status) || status < 300 };
  }
  const failed = { outcome: 'broken', status, possiblyPaid: true } as const;
  if (reported !== null) return { ...judgeError(reported, null, facts, answer.waitMs, answer.errorType), ...failed };
  return { ...NOTHING, ...failed, step: 'next_source', error: createUnusableError(), countsAsFailure: true };
}

/**
 * Judges a provider's error by its class.
 * @param status of the response; null inside a stream, and for a 200
 */
function judgeError(
  reported: ReportedError | null,
  status: number | null,
  facts: AttemptFacts,
  headerWaitMs: number | undefined,
  errorType: string | undefined,
): AttemptJudgment {
  const classified = classifyError({
    status,
    reported,
    errorType,
    upstreamModel: facts.upstreamModel,
    rules: facts.errorRules,
  });
  const rule = CLASS_RULES[classified.class];
  const waitMs = headerWaitMs ?? readBodyWaitMs(reported);
  const isQuota = rule.cooldown === 'cool_down';
  return {
    ...NOTHING,
    step: rule.next ? 'next_source' : 'final',
    outcome: 'rejected',
    error: buildClientError(
      classified,
      facts.style,
      reported,
      waitMs === undefined ? undefined : toWholeSeconds(waitMs),
    ),
    coolDownMs: isQuota ? toCoolDownMs(waitMs) : null,
    retryInMs: toRetryMs(classified, status, waitMs),
    countsAsFailure: rule.countsAsFailure,
    refusal: rule.cooldown !== 'refused' ? null : classified.certain ? 'certain' : 'unclear',
    errorClass: classified.class,
    reported,
  };
}

/** Returns whether a status means that the credential was refused. */
function isRefusal(status: number): boolean {
  return status === 401 || status === 403;
}

/** Classes of errors that another key of the same source may avoid. */
const OF_KEYS: ReadonlySet<ErrorClass | null> = new Set(['credential', 'funds', 'forbidden', 'quota']);

/**
 * Retries with another credential where one exists. An expiring token is replaced once before a
 * refusal counts, and of several keys only the used one cools down. A 403 about the body or its
 * content is not a refusal of the credential.
 */
function withOtherCredential(judged: AttemptJudgment, status: number, { other }: AttemptFacts): AttemptJudgment {
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

function createUnusableError(): GatewayError {
  return gatewayError('upstream_error', "The model's provider sent an answer that cannot be read.");
}

/** Returns whether the body has the requested type and is decoded. */
function isUsable(answer: ProviderResponse, streamed: boolean): boolean {
  return (
    isDecoded(answer) &&
    (streamed ? readMediaType(answer.contentType) === 'text/event-stream' : isJson(answer.contentType))
  );
}

export function isJson(contentType: string | undefined): boolean {
  const mediaType = readMediaType(contentType);
  return mediaType === 'application/json' || (mediaType.startsWith('application/') && mediaType.endsWith('+json'));
}

function readMediaType(contentType: string | undefined): string {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function isDecoded({ contentEncoding }: ProviderResponse): boolean {
  const encoding = contentEncoding?.trim().toLowerCase() ?? '';
  return encoding === '' || encoding === 'identity';
}

/** Returns the longer wait of Google's `RetryInfo`, which is rounded down, and the text. */
function readBodyWaitMs(reported: ReportedError | null): number | undefined {
  const waits = [reported?.waitMs, parseTextWaitMs(reported?.message ?? null)].filter((ms) => ms !== undefined);
  return waits.length === 0 ? undefined : Math.max(...waits);
}

/** Rounds up to whole seconds, at least 1: after 0 a limited source would be tried at once. */
function toCoolDownMs(waitMs: number | undefined): number {
  return waitMs === undefined ? COOL_DOWN_DEFAULT_MS : Math.min(toWholeSeconds(waitMs) * 1_000, COOL_DOWN_MS_MAX);
}

/**
 * Returns the wait before a retry after a temporary refusal; null if it is not retried.
 * @param status status of the response; null if the error came inside a response
 */
function toRetryMs({ class: kind }: ClassifiedError, status: number | null, waitMs: number | undefined): number | null {
  if (status === null) return null;
  const isBusy = kind === 'quota' || (kind === 'overload' && status === STATUS_OVERLOADED);
  const isDown = kind === 'overload' && status === STATUS_UNAVAILABLE && waitMs !== undefined;
  if (!isBusy && !isDown) return null;
  const ms = waitMs ?? RETRY_DEFAULT_MS;
  return ms <= RETRY_MS_MAX ? ms : null;
}
