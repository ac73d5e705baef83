import { READERS } from '../formats/readers.js';
import { shouldRequestUsage, shouldCreateUsageEvent } from '../parse/forward-body.js';
import type { DecryptedSource } from '../ports.js';
import { parseLength, selectPlainHeaders, selectStreamHeaders, type SourceHeaders } from './attempt-judge.js';
import type { AdmittedCall, Edge } from './call.js';
import type { ResponseRelay, RelayEvents } from './delivery.js';
import { PlainRelay } from './relay-plain.js';
import { StreamRelay } from './relay-stream.js';

/**
 * With at most this many running calls, a complete non-streamed body is sent before its record is
 * stored. With more, it is sent as one chunk afterwards: the first byte is a little later, and the
 * edge saves a tenth of its work.
 */
const EARLY_CALLS_MAX = 8;

/** Creates the relay for a successful response of this source with these `headers`. */
export function makeRelay(
  edge: Edge,
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
    sendsEarly: () => edge.running.size <= EARLY_CALLS_MAX,
  });
}
