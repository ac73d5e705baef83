import { metrics } from '@opentelemetry/api';
import { MESSAGES, type ServiceName } from '@gateway/contracts/messages';

export interface Counters {
  /** A message that no handler was given: `invalid_message`, `overloaded`. */
  refused(message: string, reason: string): void;
  /** A request or a stored message that failed at the sender's side. */
  failed(message: string, code: string): void;
}

const REASONS = ['invalid_message', 'overloaded'] as const;
/** The most frequent code stands for all: a series per message and code would be hundreds. */
const EXPECTED_CODE = 'timeout';

/**
 * Counts failures only, so the way of a good message carries no instrument. What the service may
 * receive and send stands at zero from the start: a rate does not see the step from no series to
 * the first fault.
 */
export function makeCounters(service: ServiceName): Counters {
  const meter = metrics.getMeter('@gateway/bus');
  const refused = meter.createCounter('gateway.bus.messages.refused', { unit: '{message}' });
  const failed = meter.createCounter('gateway.bus.calls.failed', { unit: '{call}' });
  for (const { name: message, kind, sentBy, servedBy } of MESSAGES) {
    if (servedBy.includes(service)) for (const reason of REASONS) refused.add(0, { message, reason });
    if (sentBy.includes(service) && kind !== 'published') failed.add(0, { message, code: EXPECTED_CODE });
  }
  return {
    refused: (message, reason) => refused.add(1, { message, reason }),
    failed: (message, code) => failed.add(1, { message, code }),
  };
}
