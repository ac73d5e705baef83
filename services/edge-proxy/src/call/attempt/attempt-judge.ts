import type { CatalogSource } from '@gateway/contracts/messages';
import type { Clock } from '@gateway/service-kit';
import {
  type AttemptFacts,
  type AttemptResult,
  type AttemptJudgment,
  isJson,
  judgeAttempt,
} from '../../errors/judge-attempt.js';
import { shouldReadErrorBody } from '../../errors/provider-error.js';
import { readHeaderWaitMs } from '../../errors/retry-after.js';
import type { ReportedError } from '../../errors/reported-error.js';
import type { Authorizer, DecryptedSource, SourceFailure } from '../../ports.js';
import type { AdmittedCall } from '../call.js';
import type { Delivery } from '../relay/delivery.js';
import { type SourceHeaders, firstValue } from '../relay/relay.js';

/** Result of one attempt: a judgement, and a delivery if a response was relayed. */
export interface AttemptOutcome {
  readonly judged: AttemptJudgment;
  readonly delivery: Delivery | null;
  /** Time from the start of the attempt to the head of a usable response; null without one. */
  readonly firstByteMs: number | null;
  /** Time from passing the request to a connection until the result; 0 if it was not passed. */
  readonly sourceMs: number;
}

/** Converts the events of one attempt to an `AttemptResult` and judges it with `judgeAttempt`. */
export class AttemptJudge {
  /** The other credential with which the request could be authorized. */
  other: AttemptFacts['other'] = undefined;
  readonly #clock: Clock;
  readonly #call: AdmittedCall;
  readonly #source: Pick<CatalogSource, 'upstreamModel' | 'errors'>;
  /** The relevant headers. A stream would keep all others in memory as long as it is open. */
  #head: Omit<Extract<AttemptResult, { kind: 'answered' }>, 'bodyStart'> | null = null;
  /** Judgement of the response head. */
  #judged: AttemptJudgment | null = null;
  /** Judgement of the error that cut the response or made it a failed one. */
  #cutBy: AttemptJudgment | null = null;

  constructor(clock: Clock, call: AdmittedCall, source: Pick<CatalogSource, 'upstreamModel' | 'errors'>) {
    this.#clock = clock;
    this.#call = call;
    this.#source = source;
  }

  head(status: number, headers: SourceHeaders): AttemptJudgment {
    this.#head = {
      kind: 'answered',
      status,
      waitMs: readHeaderWaitMs((name) => firstValue(headers[name]), this.#clock.nowMs()),
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
  failureInside(reported: ReportedError | null): AttemptJudgment {
    return this.result({ kind: 'provider_error', reported, waitMs: this.#head?.waitMs });
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
    if (ended === 'client_disconnected' || isGone) return this.result({ kind: 'abandoned', sent: true });
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

/** The other credential with which a refused request could be sent; undefined: none. */
export function findOtherCredential(
  authorizer: Authorizer,
  version: number,
  isSecondTry: boolean,
): AttemptFacts['other'] {
  if (!authorizer.mayReplace(version)) return undefined;
  if (authorizer.kind === 'keys') return isSecondTry ? 'key_later' : 'key';
  return isSecondTry ? undefined : 'token';
}

/**
 * Time for which the edge reads on after the client has left, if a cancel stops the billing and the
 * stream has text. The usage may still arrive.
 */
const CANCEL_READ_ON_MS = 2_000;

/**
 * How long the edge reads on for the usage of a billed call that was sent; null: to the end of the
 * response.
 */
export function computeReadOnMs(
  { source }: Pick<DecryptedSource, 'source'>,
  readAfterDisconnectMs: number | null,
  hasText: boolean,
): number | null {
  if (!source.cancelStopsBilling) return readAfterDisconnectMs;
  return hasText ? Math.min(readAfterDisconnectMs ?? CANCEL_READ_ON_MS, CANCEL_READ_ON_MS) : 0;
}

/**
 * Marks a complete response as left by the client, which had received `leftAtBytes` of text. A
 * response that the provider cut stays cut, so it costs nothing.
 */
export function markLeftByClient(delivery: Delivery, leftAtBytes: number): Delivery {
  const { ended, meter } = delivery;
  return {
    ...delivery,
    ended: ended === 'complete' ? 'client_disconnected' : ended,
    meter: meter && { ...meter, deliveredBytes: Math.min(meter.deliveredBytes, leftAtBytes) },
  };
}
