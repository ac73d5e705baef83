import { trace, TraceFlags } from '@opentelemetry/api';
import { headers, type Msg, type MsgHdrs } from 'nats';

const TRACEPARENT = 'traceparent';

/** Headers with the W3C trace context of the active span; undefined (and cheap) outside of a sampled one. */
export function traceHeaders(): MsgHdrs | undefined {
  const span = trace.getActiveSpan()?.spanContext();
  if (span === undefined || (span.traceFlags & TraceFlags.SAMPLED) === 0) return undefined;
  const made = headers();
  made.set(TRACEPARENT, `00-${span.traceId}-${span.spanId}-01`);
  return made;
}

/** The sender's trace context, if the message carries one. */
export function traceparentOf(message: Msg): string | undefined {
  return message.headers?.get(TRACEPARENT) || undefined;
}
