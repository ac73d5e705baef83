import type { CatalogSource } from '@gateway/contracts/messages';
import {
  type AttemptFacts,
  type AttemptResult,
  type AttemptJudgment,
  isJson,
  judgeAttempt,
} from '../errors/judge-attempt.js';
import { shouldReadErrorBody } from '../errors/provider-error.js';
import { readHeaderWaitMs } from '../errors/retry-after.js';
import type { ReportedError } from '../errors/said-error.js';
import type { SourceFailure } from '../ports.js';
import type { AdmittedCall, Edge } from './call.js';
import type { Delivery } from './delivery.js';

/** Converts the events of one attempt to an `AttemptResult` and judges it with `judgeAttempt`. */
export class AttemptJudge {
  /** The other credential with which the request could be authorized. */
  other: AttemptFacts['other'] = undefined;
  readonly #edge: Edge;
  readonly #call: AdmittedCall;
  readonly #source: Pick<CatalogSource, 'upstreamModel' | 'errors'>;
  /** The relevant headers. A stream would keep all others in memory as long as it is open. */
  #head: Omit<Extract<AttemptResult, { kind: 'answered' }>, 'bodyStart'> | null = null;
  /** Judgement of the response head. */
  #judged: AttemptJudgment | null = null;
  /** Judgement of the error that cut the response or made it a failed one. */
  #cutBy: AttemptJudgment | null = null;

  constructor(edge: Edge, call: AdmittedCall, source: Pick<CatalogSource, 'upstreamModel' | 'errors'>) {
    this.#edge = edge;
    this.#call = call;
    this.#source = source;
  }

  head(status: number, headers: SourceHeaders): AttemptJudgment {
    this.#head = {
      kind: 'answered',
      status,
      waitMs: readHeaderWaitMs((name) => firstValue(headers[name]), this.#edge.clock.nowMs()),
      contentType: firstValue(headers['content-type']),
      contentEncoding: firstValue(headers['content-encoding']),
      errorType: firstValue(headers['x-amzn-errortype']),
    };
    return (this.#judged = this.result({ ...this.#head, bodyStart: NO_BYTES }));
  }

  /** Judges an error response by its head and the beginning of its body. */
  refusal(bodyStart: Buffer): AttemptJudgment {
    if (this.#head === null) throw new Error('an error response was judged before its head');
    return this.result({ ...this.#head, bodyStart });
  }

  result(result: AttemptResult): AttemptJudgment {
    const facts = {
      style: this.#call.row.style,
      streamed: this.#call.parsed.stream,
      upstreamModel: this.#source.upstreamModel,
      errorRules: this.#source.errors,
      other: this.other,
    };
    return judgeAttempt(result, facts);
  }

  /** Judges an error that the provider reports inside a 200 response. */
  failureInside(said: ReportedError | null): AttemptJudgment {
    return this.result({ kind: 'provider_error', said, waitMs: this.#head?.waitMs });
  }

  /**
   * Whether to read the body of a response that is not relayed. The body may change the next step.
   */
  readsBody(): boolean {
    if (this.#head === null || this.#judged === null) return false;
    const { status, contentType } = this.#head;
    return status === 200 ? this.#call.parsed.stream && isJson(contentType) : shouldReadErrorBody(status);
  }

  /** Records the error that cuts the relayed response. */
  cutBy(judged: AttemptJudgment): void {
    this.#cutBy = judged;
  }

  /** Judges a relayed response that has ended. */
  delivered({ ended, failed }: Delivery, isGone: boolean): AttemptJudgment {
    if (ended === 'complete' && failed !== true && this.#judged !== null) return this.#judged;
    if (ended === 'client_left' || isGone) return this.result({ kind: 'abandoned', sent: true });
    return this.#cutBy ?? this.result({ kind: 'broken_in_body' });
  }
}

const NO_BYTES = Buffer.alloc(0);

export function toAttemptResult({ kind, reused }: SourceFailure): AttemptResult {
  switch (kind) {
    case 'private':
    case 'unreachable':
      return { kind: 'unreachable' };
    case 'unanswered':
      return { kind: 'broken_before_head', reusedConnection: reused };
    case 'broken':
      return { kind: 'broken_in_body' };
  }
}

/** Headers of a source's response. Names are in lower case; a repeated header is an array. */
export type SourceHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Response headers of a stream (docs/behaviour.md#answers): content type, cache rule, and a header
 * that disables buffering in proxies.
 */
export function selectStreamHeaders(headers: SourceHeaders): string[] {
  return [
    'content-type',
    firstValue(headers['content-type']) ?? 'text/event-stream',
    'cache-control',
    firstValue(headers['cache-control']) ?? 'no-cache',
    'x-accel-buffering',
    'no',
  ];
}

/** Response headers of any other body. The relay adds the length. */
export function selectPlainHeaders(headers: SourceHeaders): string[] {
  const kept = ['content-type', firstValue(headers['content-type']) ?? 'application/json'];
  const cacheControl = firstValue(headers['cache-control']);
  return cacheControl === undefined ? kept : [...kept, 'cache-control', cacheControl];
}

/** The announced length; null if the header is missing or malformed. */
export function parseLength(value: string | string[] | undefined): number | null {
  const text = firstValue(value);
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The first value of a header. */
export function firstValue(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
