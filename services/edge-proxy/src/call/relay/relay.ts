import type { RunningCalls } from '../../heartbeats/running-calls.js';
import { READERS } from '../../formats/readers.js';
import { shouldRequestUsage, shouldCreateUsageEvent } from '../../parse/forward-body.js';
import type { DecryptedSource } from '../../ports.js';
import type { AdmittedCall } from '../call.js';
import type { RelayEvents, ResponseRelay } from './delivery.js';
import { PlainRelay } from './relay-plain.js';
import { StreamRelay } from './relay-stream.js';

/** Parts of {@link makeRelay}. */
export interface RelayParts {
  readonly running: Pick<RunningCalls, 'size'>;
}

/**
 * With at most this many running calls, a complete non-streamed body is sent before its record is
 * stored. With more, it is sent as one chunk afterwards: the first byte is a little later, and the
 * edge saves a tenth of its work.
 */
const EARLY_CALLS_MAX = 8;

/** Creates the relay for a successful response of this source with these `headers`. */
export function makeRelay(
  { running }: RelayParts,
  call: AdmittedCall,
  opened: DecryptedSource,
  headers: SourceHeaders,
  events: RelayEvents,
): ResponseRelay {
  const { answer } = call.request;
  const reader = READERS[call.row.format];
  const { streamUsage, totalExtra, cachedInInput, pricing } = opened.source;
  const counting = { totalExtra, cachedInInput, pricing, cacheWriteTtl1h: call.parsed.cacheWriteTtl1h };
  if (call.parsed.stream) {
    const dropUsageChunk = shouldRequestUsage(call.parsed, streamUsage);
    const metering = {
      dropUsageChunk,
      makesUsageEvent: shouldCreateUsageEvent(call.parsed, streamUsage),
      choices: call.parsed.choices,
      ...counting,
    };
    return new StreamRelay({
      answer,
      headers: selectStreamHeaders(headers),
      reader,
      metering,
      requestId: call.id,
      events,
    });
  }
  return new PlainRelay({
    answer,
    headers: selectPlainHeaders(headers),
    contentLength: parseLength(headers['content-length']),
    reader,
    counting,
    events,
    sendsEarly: () => running.size <= EARLY_CALLS_MAX,
  });
}

/** Headers of a source's response. Names are in lower case; a repeated header is an array. */
export type SourceHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Response headers of a stream (docs/behaviour.md#answers): content type, cache rule, and a header
 * that disables buffering in proxies.
 */
function selectStreamHeaders(headers: SourceHeaders): string[] {
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
function selectPlainHeaders(headers: SourceHeaders): string[] {
  const kept = ['content-type', firstValue(headers['content-type']) ?? 'application/json'];
  const cacheControl = firstValue(headers['cache-control']);
  return cacheControl === undefined ? kept : [...kept, 'cache-control', cacheControl];
}

/** The announced length; null if the header is missing or malformed. */
function parseLength(value: string | string[] | undefined): number | null {
  const text = firstValue(value);
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The first value of a header. */
export function firstValue(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
