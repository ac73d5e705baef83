import { metrics } from '@opentelemetry/api';

export interface Counters {
  /** A message that a door did not accept: `invalid_message`, `overloaded`. */
  refused(message: string, reason: string): void;
  /** A request or a stored message that failed at the sender's side. */
  failed(message: string, code: string): void;
}

/** Counts failures only, so the way of a good message carries no instrument. */
export function makeCounters(): Counters {
  const meter = metrics.getMeter('@gateway/bus');
  const refused = meter.createCounter('gateway.bus.messages.refused', { unit: '{message}' });
  const failed = meter.createCounter('gateway.bus.calls.failed', { unit: '{call}' });
  return {
    refused: (message, reason) => refused.add(1, { message, reason }),
    failed: (message, code) => failed.add(1, { message, code }),
  };
}
