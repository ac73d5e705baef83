import type { GatewayError } from '@gateway/contracts/errors';
import type { TokenUsage } from '@gateway/metering';
import type { CallEnd } from '../pricing/charge.js';
import type { MeterResult } from '../formats/meter.js';
import type { AttemptResult } from '../errors/judge-attempt.js';
import type { SaidError } from '../errors/said-error.js';

/** How an answer that a source began has ended, with everything but its last piece sent. */
export interface Delivery {
  readonly ended: CallEnd;
  readonly meter: MeterResult | null;
  /**
   * A whole answer in which the provider says that it has failed: it ends as any other, and is not
   * billed.
   */
  readonly failed?: true;
  /**
   * Bytes that wait for the record; null: only the end of the body does. Nothing is sent of a cut
   * answer. Read when it is sent: what follows a stream's final marker meanwhile belongs to it.
   */
  readonly lastPiece: Buffer | null;
  /**
   * Of a complete stream: the event that goes before the last piece and tells what is charged; see
   * `StreamMeter`.
   */
  readonly usageEvent?: ((usage: TokenUsage) => Buffer | null) | undefined;
  /**
   * Called when the last piece was sent, or will not be: what counts as held for it is given back.
   */
  readonly over?: () => void;
  /** Why the answer was cut, null when the provider has said so itself or it was not cut. */
  readonly error: GatewayError | null;
  /**
   * A cut stream's last event, which tells the client the error; absent when there is nothing more
   * to say.
   */
  readonly cutEnding?: Buffer;
}

/** What takes the body of a usable answer, from its head on. */
export interface AnswerRelay {
  /** The client has got the first bytes. */
  readonly hasBegun: boolean;
  /** Generated text was seen. */
  readonly hasText: boolean;
  /** Bytes of generated text that the client has got so far, if it is there. */
  readonly deliveredBytes: number;
  /** Also after `ended` of a complete answer. */
  data(chunk: Buffer): void;
  /**
   * The provider ended its answer as HTTP says; `openEnded`: by the end of the connection alone,
   * which proves nothing.
   */
  end(openEnded: boolean): void;
  /** Nothing of the answer was sent, and nothing will be. */
  drop(): void;
  /**
   * The answer stops here. `client_left`: nobody reads it any more; `cut`: with the error that
   * tells the client why.
   */
  stop(how: 'client_left' | 'cut', error: GatewayError | null): void;
}

/** Why a body is no complete answer, as far as the body itself tells. */
export type BodyFailure = Extract<AttemptResult, { kind: 'broken_in_body' | 'unusable_body' }>;
export const UNUSABLE: BodyFailure = { kind: 'unusable_body' };

/** What a relay tells the attempt that feeds it. */
export interface RelayEvents {
  /** The first byte goes to the client. */
  begun(): void;
  /** An event of a stream was seen; comments are none. */
  event(): void;
  /**
   * The beginning of a stream is kept back until it shows an answer, an error, or `commit` is
   * called; or the provider has failed, and its reason is waited for. @param msMax until `commit`
   */
  keptBack(commit: () => void, msMax?: number): void;
  /** The first generated text of a stream was seen. */
  firstToken(): void;
  /** Called once. */
  ended(delivery: Delivery): void;
  /**
   * The body is no complete answer. The client gets an error: as its answer, or as the ending of
   * what it has got.
   */
  incomplete(result: BodyFailure): void;
  /**
   * The provider says that it has failed. True: the relay sends that on in the provider's form, and
   * ends; false: the attempt has ended, or the relay was stopped. @param canPass there is such a
   * form
   */
  providerFailed(said: SaidError | null, canPass: boolean): boolean;
  /** The client reads slower than the provider writes. */
  pause(): void;
}
