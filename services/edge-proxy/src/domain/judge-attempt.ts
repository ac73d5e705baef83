import { gatewayError } from '@gateway/contracts/errors';
import type { GatewayError } from '@gateway/contracts/errors';
import type { AttemptRecord } from '@gateway/contracts/messages';
import type { EndpointStyle } from './endpoints.js';
import { statusError } from './provider-error.js';
import { retryAfterSeconds } from './retry-after.js';

/** Bytes of a provider's error body that are read for its text. */
export const ERROR_BODY_BYTES_MAX = 64 * 1024;
/** Rest of a source after a 429 without Retry-After, and the longest one (behaviour §3). */
export const COOL_DOWN_DEFAULT_MS = 5_000;
export const COOL_DOWN_MS_MAX = 600_000;

/** How one try of one source went, before anything is concluded from it. */
export type AttemptResult =
  | {
      /** A response head arrived (200 too: whether it is usable is judged here). */
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfter: string | undefined;
      readonly contentType: string | undefined;
      /** What the body is still encoded with: undefined or `identity` once it is decoded. */
      readonly contentEncoding: string | undefined;
      /** Of answers other than 200: the first {@link ERROR_BODY_BYTES_MAX} bytes; otherwise may be empty. */
      readonly bodyStart: Buffer;
    }
  /** Refused, DNS, TLS, connect time-out: nothing was sent. */
  | { readonly kind: 'unreachable' }
  /**
   * `headers`, `first_event`: the source's own limit, nothing went to the client yet. `silence`: inside the body.
   * `deadline`: the 600 s. Not `sent`: the connection was still being made.
   */
  | {
      readonly kind: 'timed_out';
      readonly limit: 'headers' | 'first_event' | 'silence' | 'deadline';
      readonly sent: boolean;
    }
  /** After the request was sent, before the first response byte. */
  | { readonly kind: 'broken_before_head'; readonly reusedConnection: boolean }
  /** After the response head: the network, or a provider's error event. */
  | { readonly kind: 'broken_in_body' }
  /** A provider's error event, which the client gets as this error. */
  | { readonly kind: 'provider_error'; readonly error: GatewayError }
  /** No answer: a complete plain body that is none (`MeterResult.finished` false), a stream without events, a frame too long. */
  | { readonly kind: 'unusable_body' }
  /** The client left. `sent`: the request had gone to the source. */
  | { readonly kind: 'abandoned'; readonly sent: boolean }
  /** The gateway ends the call: the account is suspended, or this process stops. The source has no part in it. */
  | { readonly kind: 'stopped'; readonly sent: boolean; readonly error: GatewayError };

export interface AttemptFacts {
  readonly style: EndpointStyle;
  /** The client asked for a stream. */
  readonly streamed: boolean;
  /** For a Retry-After that is a date. */
  readonly nowMs: number;
}

export interface JudgedAttempt {
  /** `final` with `error` null: the answer is usable, or nobody waits for it. */
  readonly step: 'next_source' | 'fresh_connection' | 'final';
  readonly outcome: AttemptRecord['outcome'];
  /** The provider's status, null if none came. */
  readonly status: number | null;
  /** The provider may charge for it although no complete answer came. */
  readonly possiblyPaid: boolean;
  /** What the client gets if this attempt decides. */
  readonly error: GatewayError | null;
  /** The source rests that long; null: it does not. */
  readonly coolDownMs: number | null;
  /** Counts toward the source's breaker. */
  readonly countsAsFailure: boolean;
  /** A provider was reached: its word goes before `upstream_unreachable`. */
  readonly reached: boolean;
  /** The provider refused the gateway's own credentials or account: the operator is told. */
  readonly alarm: boolean;
}

/** Answers after which another source is asked (behaviour §3). */
const FAILOVER_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504, 529]);
/** The provider gave up waiting: what it waited for may have been computed. */
const PAID_STATUSES: ReadonlySet<number> = new Set([408, 504, 524]);
/** Nothing but the gateway's credentials and account decides these. */
const CREDENTIAL_STATUSES: ReadonlySet<number> = new Set([401, 402, 403]);

const NOTHING: JudgedAttempt = {
  step: 'final',
  outcome: 'completed',
  status: null,
  possiblyPaid: false,
  error: null,
  coolDownMs: null,
  countsAsFailure: false,
  reached: true,
  alarm: false,
};

const UNREACHED = { outcome: 'unreachable', possiblyPaid: false, reached: false } as const;

/** What follows from one attempt (behaviour §3): the next step, the record, the error, and what the source gets for it. */
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
      return { ...failed, outcome: 'broken' };
    case 'provider_error':
      return { ...failed, outcome: 'broken', error: result.error };
    case 'unusable_body':
      return { ...failed, outcome: 'broken', error: unusable() };
    case 'abandoned':
      return { ...NOTHING, outcome: 'abandoned', possiblyPaid: result.sent, reached: result.sent };
    case 'stopped': {
      const { sent, error } = result;
      return { ...NOTHING, outcome: 'abandoned', possiblyPaid: sent, reached: sent, error };
    }
  }
}

/** The answer when no source is left: the last attempt that reached a provider, else `upstream_unreachable`. */
export function finalError(attempts: readonly JudgedAttempt[]): GatewayError {
  const last = attempts.findLast(({ reached, error }) => reached && error !== null);
  return last?.error ?? gatewayError('upstream_unreachable');
}

type Answer = Extract<AttemptResult, { kind: 'answered' }>;

function judgeAnswer(answer: Answer, facts: AttemptFacts): JudgedAttempt {
  const { status } = answer;
  if (status === 200) {
    if (isUsable(answer, facts.streamed)) return { ...NOTHING, status };
    return { ...NOTHING, outcome: 'broken', status, possiblyPaid: true, error: unusable(), countsAsFailure: true };
  }
  const seconds = status === 429 ? retryAfterSeconds(answer.retryAfter, facts.nowMs) : undefined;
  return {
    ...NOTHING,
    step: FAILOVER_STATUSES.has(status) ? 'next_source' : 'final',
    outcome: 'rejected',
    status,
    possiblyPaid: PAID_STATUSES.has(status) || status < 300,
    error: statusError(status, facts.style, readableBody(answer), seconds),
    coolDownMs: status === 429 ? coolDownMs(seconds) : null,
    // 403 is left out: some providers answer it for a client's content, which must not open everybody's breaker
    countsAsFailure: status >= 500 || status === 401 || status === 402 || status < 400,
    alarm: CREDENTIAL_STATUSES.has(status),
  };
}

function unusable(): GatewayError {
  return gatewayError('upstream_error', "The model's provider sent an answer that cannot be read.");
}

/** The kind of body that was asked for, decoded. */
function isUsable(answer: Answer, streamed: boolean): boolean {
  const mediaType = answer.contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const isJson =
    mediaType === 'application/json' || (mediaType.startsWith('application/') && mediaType.endsWith('+json'));
  return isDecoded(answer) && (streamed ? mediaType === 'text/event-stream' : isJson);
}

function readableBody(answer: Answer): Buffer | null {
  return isDecoded(answer) ? answer.bodyStart : null;
}

function isDecoded({ contentEncoding }: Answer): boolean {
  const encoding = contentEncoding?.trim().toLowerCase() ?? '';
  return encoding === '' || encoding === 'identity';
}

function coolDownMs(seconds: number | undefined): number {
  return seconds === undefined ? COOL_DOWN_DEFAULT_MS : Math.min(seconds * 1000, COOL_DOWN_MS_MAX);
}
