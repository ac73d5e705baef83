import { metrics } from '@opentelemetry/api';
import { MESSAGES, type ServiceName } from '@gateway/contracts/messages';

export interface Counters {
  /** Counts a message that no handler received: `invalid_message`, `overloaded`. */
  refused(message: string, reason: string): void;
  /** Counts a request or a stored message that failed at its sender. */
  failed(message: string, code: string): void;
}

const REASONS = ['invalid_message', 'overloaded'] as const;
/** Most failures are timeouts. Counters of each message and code would be hundreds of series. */
const EXPECTED_CODE = 'timeout';

/**
 * Counts failures only, so that successful messages cost nothing. Counters of messages that the
 * service receives and sends start at zero: `rate()` does not count the first fault of a new
 * series.
 */
export function makeCounters(service: ServiceName): Counters {
  const meter = metrics.getMeter('@gateway/bus');
  const refused = meter.createCounter('gateway.bus.messages.refused', { unit: '{message}' });
  const failed = meter.createCounter('gateway.bus.requests.failed', { unit: '{call}' });
  for (const { name: message, kind, sentBy, servedBy } of MESSAGES) {
    if (servedBy.includes(service)) for (const reason of REASONS) refused.add(0, { message, reason });
    if (sentBy.includes(service) && kind !== 'published') failed.add(0, { message, code: EXPECTED_CODE });
  }
  return {
    refused: (message, reason) => refused.add(1, { message, reason }),
    failed: (message, code) => failed.add(1, { message, code }),
  };
}
