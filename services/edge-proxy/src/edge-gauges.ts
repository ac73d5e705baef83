import { gauge } from '@gateway/service-kit';
import type { AdmissionDesk } from './admission/ask-admission.js';
import type { RunningCalls } from './beats/running-calls.js';
import type { UsageJournal } from './journal/store-usage.js';
import { HELD_ANSWERS, METERED_ANSWERS, REQUEST_BODIES } from './memory/held-bytes.js';

/** What of this edge is looked at when somebody asks for the metrics. */
export function declareGauges(running: RunningCalls, journal: UsageJournal, desk: AdmissionDesk): void {
  gauge('gateway_edge_calls_open', 'Calls that hold a slot or a hold', () => running.size);
  gauge('gateway_edge_events_unstored', 'Usage events that no stream has yet', () => journal.unstored);
  gauge(
    'gateway_edge_event_unstored_age_seconds',
    'Age of the oldest unstored event',
    () => journal.oldestAgeMs() / 1000,
  );
  gauge('gateway_edge_admissions_waiting', 'Questions that wait for admission', () => desk.waiting);
  gauge(
    'gateway_edge_body_bytes_buffered',
    'Bytes of request bodies that a source may still need',
    () => REQUEST_BODIES.held,
  );
  gauge(
    'gateway_edge_answer_bytes_held',
    'Bytes of plain answers that are not sent before they are complete',
    () => HELD_ANSWERS.held,
  );
  gauge(
    'gateway_edge_answer_bytes_kept',
    'Bytes of relayed plain answers that are kept for their usage',
    () => METERED_ANSWERS.held,
  );
}
