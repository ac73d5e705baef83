import type { GatewayError } from '@gateway/contracts/errors';
import type { TokenUsage } from '@gateway/metering';
import type { CallEnd } from '../../pricing/charge.js';
import type { MeterResult } from '../../formats/meter.js';
import type { AttemptResult } from '../../errors/judge-attempt.js';
import type { ReportedError } from '../../errors/reported-error.js';

/** How a relayed response has ended. All but its last chunk has been sent. */
export interface Delivery {
  readonly ended: CallEnd;
  readonly meter: MeterResult | null;
  /**
   * The response is complete, but reports that the provider has failed. It ends like any other and
   * is not billed.
   */
  readonly failed?: true;
  /**
   * Bytes that are held back until the usage record is stored; null: only the end of the body is
   * held back. Not sent for a cut response. Read it only when it is sent: events that follow a
   * stream's final marker meanwhile are added to it.
   */
  readonly lastPiece: Buffer | null;
  /**
   * For a complete stream: creates the event with the charged usage, which is sent before the last
   * chunk; see `StreamMeter`.
   */
  readonly usageEvent?: ((usage: TokenUsage) => Buffer | null) | undefined;
  /** Called when the last chunk was sent or dropped. Releases the memory that is counted for it. */
  readonly over?: () => void;
  /** Why the response was cut; null: it was not cut, or the provider has sent an error itself. */
  readonly error: GatewayError | null;
  /** Last event of a cut stream, which reports the error; absent if there is none. */
  readonly cutEnding?: Buffer;
}

/** Relays the body of a successful response. */
export interface ResponseRelay {
  /** The client has received the first bytes. */
  readonly hasBegun: boolean;
  /** Generated text has arrived. */
  readonly hasText: boolean;
  /** Bytes of generated text sent so far, if the client is connected. */
  readonly deliveredBytes: number;
  /** May also be called after `ended` of a complete response. */
  data(chunk: Buffer): void;
  /**
   * The provider ended the response. `openEnded`: only the end of the connection ended it, so it
   * may be incomplete.
   */
  end(openEnded: boolean): void;
  /** Drops the response. No byte of it was sent. */
  drop(): void;
  /** Stops the response because the client has left, or cuts it with `error`. */
  stop(how: 'client_disconnected' | 'cut', error: GatewayError | null): void;
}

/** Why a body is incomplete or unusable, judged by the body alone. */
export type BodyFailure = Extract<AttemptResult, { kind: 'broken_in_body' | 'unusable_body' }>;
export const UNUSABLE: BodyFailure = { kind: 'unusable_body' };

/** Events from a relay to its attempt. */
export interface RelayEvents {
  /** The first byte is sent to the client. */
  begun(): void;
  /** An event of a stream has arrived. Comments do not count. */
  event(): void;
  /**
   * The beginning of a stream is held back until it shows a response or an error, or `commit` is
   * called. Also called when the provider has failed and may still send the reason.
   * @param msMax time until `commit`
   */
  keptBack(commit: () => void, msMax?: number): void;
  /** The first generated text of a stream has arrived. */
  firstToken(): void;
  /** Called once. */
  ended(delivery: Delivery): void;
  /**
   * The body is not a complete response. The client gets an error, as its response or at the end of
   * the part that it has received.
   */
  incomplete(result: BodyFailure): void;
  /**
   * The provider reports that it has failed. True: the relay sends the error in the provider's
   * format and ends. False: the attempt has ended, or the relay was stopped.
   * @param canPass the error is available in the provider's format
   */
  providerFailed(reported: ReportedError | null, canPass: boolean): boolean;
  /** The client reads slower than the provider writes. */
  pause(): void;
}
