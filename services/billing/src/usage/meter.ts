import { usageEvents } from '@gateway/contracts/messages';
import { counter, histogram, LINKS_MAX, type Span, startSpan } from '@gateway/service-kit';
import type { BatchDecision, EventOutcome } from './decide/batch-ledger-rules.js';
import type { ReceivedEvent } from './rules.js';

/** Counts usage events by outcome and creates their spans. */
export interface SettlementMeter {
  begin(received: readonly ReceivedEvent[]): BatchMeasurement;
}

export interface BatchMeasurement {
  settled(decision: BatchDecision): void;
  failed(error: unknown): void;
}

const OUTCOMES: readonly EventOutcome[] = ['settled', 'voided', 'expired', 'repeated', 'outranked', 'dead_letter'];
const COMMIT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const BATCH_EVENTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000];

export function createSettlementMeter(): SettlementMeter {
  const events = counter('gateway_billing_usage_events_total', 'Usage events by outcome', { outcome: OUTCOMES });
  const seconds = histogram('gateway_billing_settlement_seconds', 'Time from a batch to its commit', COMMIT_SECONDS);
  const sizes = histogram('gateway_billing_batch_events', 'Events settled in one database transaction', BATCH_EVENTS);
  const faults = counter('gateway_billing_settlement_errors_total', 'Batches that were retried');
  return {
    begin(received) {
      const begunMs = performance.now();
      const spans = openSpans(received);
      return {
        settled({ outcomes }) {
          for (const outcome of outcomes) events.of({ outcome }).add(1);
          if (outcomes.length > 0) sizes.observe(outcomes.length);
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

/** Maximum of traced events per batch: 1 % of a full batch, even at a trace rate of 100 %. */
const TRACED_EVENTS_MAX = LINKS_MAX;
const NO_SPANS: readonly Span[] = [];

/**
 * Starts a span for each traced event, as a child of its trace, and one for the transaction that
 * settles all of them. The transaction's span belongs to the first trace and has links to the
 * others.
 */
function openSpans(received: readonly ReceivedEvent[]): readonly Span[] {
  const events: Span[] = [];
  for (const { event } of received) {
    if (event.traceparent === undefined || events.length >= TRACED_EVENTS_MAX) continue;
    const span = startEventSpan(event, event.traceparent);
    if (span.traceparent !== undefined) events.push(span);
  }
  const [first, ...others] = events;
  return first === undefined ? NO_SPANS : [startTransactionSpan(first, others, received.length), ...events];
}

function startEventSpan(event: ReceivedEvent['event'], parent: string): Span {
  return startSpan('billing.settle', {
    parent,
    kind: 'consumer',
    attributes: {
      'messaging.system': 'nats',
      'messaging.operation.type': 'process',
      'messaging.destination.name': usageEvents.stream,
      'gateway.request_id': event.id,
      'gateway.outcome': event.outcome,
      'gateway.rank': event.rank,
    },
  });
}

function startTransactionSpan(first: Span, others: readonly Span[], events: number): Span {
  const transaction = startSpan('settle batch', {
    parent: first.traceparent,
    kind: 'client',
    links: others.flatMap(({ traceparent }) => traceparent ?? []),
    attributes: { 'db.system.name': 'postgresql', 'db.operation.batch.size': events },
  });
  if (transaction.traceparent !== undefined) for (const span of others) span.link(transaction.traceparent);
  return transaction;
}
