import type { TokenCounts, TokenUsage } from '@gateway/metering';
import type { GatewayError } from '@gateway/contracts/errors';
import type { CatalogSource } from '@gateway/contracts/messages';
import type { ParsedJson } from '../json/json-reducer.js';
import type { SseEvent } from './event-stream.js';
import type { SaidError } from '../errors/said-error.js';
import type { SaidExtras } from '../pricing/said-extras.js';
import type { StoredIds } from '../stored-ids/answer-names.js';

/** What an answer showed of its use. */
export interface MeterResult {
  /**
   * The provider's own count; null if there is none that can be used. An explicit zero is a usage.
   */
  readonly usage: TokenUsage | null;
  /** Why there is none: not sent, not ended or not readable. Null when there is one. */
  readonly problem: 'absent' | 'malformed' | null;
  /** Without a usage: the counts that were reported all the same. Absent: none. */
  readonly begun?: PartialUsage | null;
  /** UTF-8 bytes of generated text in what was seen: an estimate is made of them. */
  readonly deliveredBytes: number;
  /**
   * Streams: the final marker, or a finish reason of every choice, was seen. Plain: the body is an
   * answer, not an error object and not something that is no JSON object.
   */
  readonly finished: boolean;
  /** By which later requests may name the response, its items and containers; absent: none. */
  readonly ids?: StoredIds;
  /** What it said of its class and of tools that were used; absent: nothing, or nobody asked. */
  readonly said?: SaidExtras | null;
  /** Of a plain body that is an error, or an answer that has failed. */
  readonly failure?: ProviderFailure;
}

/** Counts of an answer whose usage is not complete. */
export interface PartialUsage extends Omit<TokenCounts, 'input' | 'output'> {
  /** All input; null: not reported. */
  readonly input: number | null;
  /** Null: not reported, or only as {@link outputAtLeast}. */
  readonly output: number | null;
  /** Output that was counted before the answer stopped, or reasoning that was reported. */
  readonly outputAtLeast: number;
  /** Samplings of the answer that these counts do not include. */
  readonly others: readonly TokenCounts[];
}

/** An error of a provider, in the middle of a stream or in place of an answer. */
export interface ProviderFailure {
  /** Null when it says nothing. */
  readonly said: SaidError | null;
  /** As it may go on in its own format, cleaned; null where an error of ours takes its place. */
  readonly relayed: Buffer | null;
  /** It gives no reason, and the next event may (Azure): see {@link explained}. */
  readonly isUnexplained?: true;
}

/** A failure without a reason, by what came next: null, it was nothing that failed. */
export function explained(failure: ProviderFailure, next: ProviderFailure | null): ProviderFailure {
  const relayed = [failure.relayed, next?.relayed].filter((bytes) => bytes != null);
  return { said: next?.said ?? failure.said, relayed: relayed.length === 0 ? null : Buffer.concat(relayed) };
}

/** What an event means for the relay. */
export interface SeenEvent {
  /** False for the usage chunk that only the gateway asked for: it is not relayed. */
  readonly pass: boolean;
  /** The final marker (`[DONE]`, `message_stop`, `response.completed`): it waits for the record. */
  readonly final: boolean;
  /**
   * It shows no text, reasoning, tool call or refusal, and no end (`message_start`): it waits until
   * an event does, so that another source may be asked.
   */
  readonly early: boolean;
  /** The provider reports an error inside the stream, which counts as cut. */
  readonly failure: ProviderFailure | null;
}

export const PASS: SeenEvent = { pass: true, final: false, early: false, failure: null };
export const DROP: SeenEvent = { ...PASS, pass: false, early: true };
export const FINAL: SeenEvent = { ...PASS, final: true };
export const EARLY: SeenEvent = { ...PASS, early: true };

/** Reads one stream, event by event, in order. */
export interface StreamMeter {
  see(sseEvent: SseEvent): SeenEvent;
  result(): MeterResult;
  /** Whether generated text was seen. */
  hasText(): boolean;
  /**
   * What the gateway sends when it ends this stream before its end (docs/behaviour.md#answers): an
   * error event of the format, never its final marker. It may need what was seen: ids, numbers of
   * events.
   */
  cutEnding(error: GatewayError, requestId: string): Buffer;
  /**
   * An event of the stream that tells this usage; null: the provider's own events have told it.
   * Absent: nobody asked for one.
   */
  usageEvent?: ((usage: TokenUsage) => Buffer | null) | undefined;
}

/** How a source counts: absent members mean what the format does. */
export interface Counting extends Pick<CatalogSource, 'totalExtra' | 'cachedInInput' | 'pricing'> {
  /** The request asks for 1-hour cache writes: unsplit writes are these. */
  readonly cacheWriteTtl1h?: boolean;
}

export interface StreamMeterOptions extends Counting {
  /** The gateway added `stream_options.include_usage`: the extra event is taken out again. */
  readonly dropUsageChunk: boolean;
  /** The client asked for usage, and the provider knows no such option: see `usageEvent`. */
  readonly makesUsageEvent?: boolean;
  /** Answers asked for (`ParsedCall.choices`). */
  readonly choices: number;
}

/** How answers of one format are read, and how a cut stream of it ends. */
export interface AnswerReader {
  readonly streamMeter: (options: StreamMeterOptions) => StreamMeter;
  /** `body`: a complete, decoded answer, or what was kept of one. */
  readonly readPlain: (body: Buffer | ParsedJson, counting?: Counting) => MeterResult;
  /**
   * After its ending a cut stream of this format ends as HTTP says, also when the provider's own
   * error event was the ending: its clients lose the last event otherwise. False: the connection is
   * destroyed without the last chunk.
   */
  readonly cutEndsNormally: boolean;
}
