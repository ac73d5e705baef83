import { counter, histogram, startSpan, type Span } from '@gateway/service-kit';
import type { BatchDecision, EventOutcome } from '../domain/decide-batch.js';
import type { UsageFact } from '../domain/facts.js';

/** Counts what becomes of usage events, and makes their spans. */
export interface SettleMeter {
  begin(facts: readonly UsageFact[]): Measured;
}

export interface Measured {
  settled(decision: BatchDecision): void;
  failed(error: unknown): void;
}

const OUTCOMES: readonly EventOutcome[] = ['settled', 'voided', 'expired', 'repeated', 'outranked', 'set_aside'];
const COMMIT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const BATCH_EVENTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000];

export function makeSettleMeter(): SettleMeter {
  const events = counter('gateway_billing_events_total', 'Usage events by what became of them', { outcome: OUTCOMES });
  const seconds = histogram('gateway_billing_settle_seconds', 'Time from a batch to its commit', COMMIT_SECONDS);
  const sizes = histogram('gateway_billing_batch_events', 'Events settled in one database transaction', BATCH_EVENTS);
  const faults = counter('gateway_billing_settle_faults_total', 'Batches that had to be tried again');
  return {
    begin(facts) {
      const begunMs = performance.now();
      const spans = spansOf(facts);
      return {
        settled({ outcomes }) {
          for (const outcome of outcomes) events.of({ outcome }).add(1);
          sizes.observe(outcomes.length);
          seconds.observe((performance.now() - begunMs) / 1_000);
          for (const span of spans) span.end();
        },
        failed(error) {
          faults.add(1);
          for (const span of spans) {
            span.fault(error);
            span.end();
          }
        },
      };
    },
  };
}

/** A span for each event whose call is traced, as its child. */
function spansOf(facts: readonly UsageFact[]): Span[] {
  const spans: Span[] = [];
  for (const { event } of facts) {
    if (event.traceparent === undefined) continue;
    spans.push(
      startSpan('billing.settle', {
        parent: event.traceparent,
        attributes: { 'gateway.request_id': event.id, 'gateway.outcome': event.outcome, 'gateway.rank': event.rank },
      }),
    );
  }
  return spans;
}
