import type { TokenCounts, TokenUsage } from '@gateway/metering';
import type { GatewayError } from '@gateway/contracts/errors';
import type { CatalogSource } from '@gateway/contracts/messages';
import type { ParsedJson } from '../json/json-reducer.js';
import type { SseEvent } from './event-stream.js';
import type { ReportedError } from '../errors/reported-error.js';
import type { ReportedExtras } from '../pricing/reported-extras.js';
import type { StoredIds } from '../stored-ids/answer-names.js';

/** The usage of a response, as the meter read it. */
export interface MeterResult {
  /**
   * The provider's counts; null if there are none that can be used. An explicit zero is a usage.
   */
  readonly usage: TokenUsage | null;
  /**
   * The reason why there is no usage: not sent, not complete, or unreadable. Null if there is one.
   */
  readonly problem: 'absent' | 'malformed' | null;
  /** Counts that were reported before the usage was complete. Absent if there are none. */
  readonly begun?: PartialUsage | null;
  /** UTF-8 bytes of generated text, for an estimate. */
  readonly deliveredBytes: number;
  /**
   * Stream: the final marker, or a finish reason of every choice, was seen. Plain body: it is a
   * response, not an error object or something other than a JSON object.
   */
  readonly finished: boolean;
  /**
   * IDs of the response, its items and its containers, which later requests may name; absent if
   * there are none.
   */
  readonly ids?: StoredIds;
  /** Reported class and tool uses; absent if there are none or the source has no pricing rules. */
  readonly reported?: ReportedExtras | null;
  /** The failure of a plain body that is an error or a failed response. */
  readonly failure?: ProviderFailure;
}

/** Counts of a response without complete usage. */
export interface PartialUsage extends Omit<TokenCounts, 'input' | 'output'> {
  /** All input; null if not reported. */
  readonly input: number | null;
  /** Null if not reported, or only as {@link outputAtLeast}. */
  readonly output: number | null;
  /** Output that was counted before the response stopped, or reported reasoning. */
  readonly outputAtLeast: number;
  /** Samplings of the response that these counts do not include. */
  readonly others: readonly TokenCounts[];
}

/** An error of a provider, inside a stream or instead of a response. */
export interface ProviderFailure {
  /** Null if it has no text, code or status. */
  readonly reported: ReportedError | null;
  /**
   * The error in its own format, cleaned, to be relayed; null if the gateway sends its own error.
   */
  readonly relayed: Buffer | null;
  /** It has no reason, but the next event may have one (Azure): see {@link withReason}. */
  readonly isUnexplained?: true;
}

/**
 * Completes a failure without a reason by the next event's failure; null if that event is not one.
 */
export function withReason(failure: ProviderFailure, next: ProviderFailure | null): ProviderFailure {
  const relayed = [failure.relayed, next?.relayed].filter((bytes) => bytes != null);
  return {
    reported: next?.reported ?? failure.reported,
    relayed: relayed.length === 0 ? null : Buffer.concat(relayed),
  };
}

/** The meter's instructions to the relay for one event. */
export interface EventHandling {
  /** False for the usage chunk that only the gateway requested: it is not relayed. */
  readonly pass: boolean;
  /** Final marker (`[DONE]`, `message_stop`, `response.completed`): waits for the usage record. */
  readonly final: boolean;
  /**
   * The event, such as `message_start`, has no text, reasoning, tool call or refusal and ends
   * nothing. It is held until a later event has one of these, so that the gateway can still try
   * another source.
   */
  readonly early: boolean;
  /** The provider reports an error inside the stream, which then counts as cut. */
  readonly failure: ProviderFailure | null;
}

export const PASS: EventHandling = { pass: true, final: false, early: false, failure: null };
export const DROP: EventHandling = { ...PASS, pass: false, early: true };
export const FINAL: EventHandling = { ...PASS, final: true };
export const EARLY: EventHandling = { ...PASS, early: true };

/** Reads one stream, event by event, in order. */
export interface StreamMeter {
  read(sseEvent: SseEvent): EventHandling;
  result(): MeterResult;
  /** Returns whether generated text was seen. */
  hasText(): boolean;
  /**
   * Builds the last events of a stream that the gateway ends early (docs/behaviour.md#answers): an
   * error event of the format, never its final marker. It may use IDs and event numbers from
   * earlier events.
   */
  cutEnding(error: GatewayError, requestId: string): Buffer;
  /**
   * Builds an event that reports this usage; null if the provider's events have reported it. Absent
   * if the client did not request usage.
   */
  usageEvent?: ((usage: TokenUsage) => Buffer | null) | undefined;
}

/** The source's way of counting. An absent member means the format's standard. */
export interface CountingOptions extends Pick<CatalogSource, 'totalExtra' | 'cachedInInput' | 'pricing'> {
  /** The request uses 1-hour caching, so cache writes without a split count as 1-hour writes. */
  readonly cacheWriteTtl1h?: boolean;
}

export interface StreamMeterOptions extends CountingOptions {
  /** The gateway added `stream_options.include_usage`, so that the extra event is removed again. */
  readonly dropUsageChunk: boolean;
  /** The client requested usage, but the provider does not support the option: see `usageEvent`. */
  readonly makesUsageEvent?: boolean;
  /** Number of choices requested (`ParsedCall.choices`). */
  readonly choices: number;
}

/** Reads responses of one format, and ends its streams when they are cut. */
export interface ResponseReader {
  readonly streamMeter: (options: StreamMeterOptions) => StreamMeter;
  /** Reads a complete, decoded response, or the part of one that was kept. */
  readonly readPlain: (body: Buffer | ParsedJson, counting?: CountingOptions) => MeterResult;
  /**
   * Whether a cut stream of this format ends normally in HTTP after its error event, also if the
   * error event is the provider's. Clients of the format otherwise lose the last event. False: the
   * connection is destroyed without the last HTTP chunk.
   */
  readonly cutEndsNormally: boolean;
}
