import { READERS } from '../formats/readers.js';
import { addsStreamUsage, makesUsageEvent } from '../parse/forward-body.js';
import type { OpenedSource } from '../ports.js';
import { lengthOf, plainHeaders, streamHeaders, type SourceHeaders } from './attempt-judge.js';
import type { AdmittedCall, Edge } from './call.js';
import type { AnswerRelay, RelayEvents } from './delivery.js';
import { PlainRelay } from './relay-plain.js';
import { StreamRelay } from './relay-stream.js';

/**
 * With more running calls a complete plain body is sent in one piece, when its record is stored:
 * the first byte comes a little later, and the edge saves a tenth of its work.
 */
const EARLY_CALLS_MAX = 8;

/** What takes the body of a usable answer of this source, whose head is `headers`. */
export function makeRelay(
  edge: Edge,
  call: AdmittedCall,
  opened: OpenedSource,
  headers: SourceHeaders,
  events: RelayEvents,
): AnswerRelay {
  const { answer } = call.request;
  const reader = READERS[call.row.format];
  const { streamUsage, totalExtra, cachedInInput, pricing } = opened.source;
  const counting = { totalExtra, cachedInInput, pricing, cacheWriteTtl1h: call.parsed.cacheWriteTtl1h };
  if (call.parsed.stream) {
    const dropUsageChunk = addsStreamUsage(call.parsed, streamUsage);
    const metering = {
      dropUsageChunk,
      makesUsageEvent: makesUsageEvent(call.parsed, streamUsage),
      choices: call.parsed.choices,
      ...counting,
    };
    return new StreamRelay({
      answer,
      headers: streamHeaders(headers),
      reader,
      metering,
      requestId: call.id,
      events,
    });
  }
  return new PlainRelay({
    answer,
    headers: plainHeaders(headers),
    contentLength: lengthOf(headers['content-length']),
    reader,
    counting,
    events,
    sendsEarly: () => edge.running.size <= EARLY_CALLS_MAX,
  });
}
