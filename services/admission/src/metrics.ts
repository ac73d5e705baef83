import { ADMISSION_REFUSAL_CODES } from '@gateway/contracts/errors';
import { counter, gauge, histogram } from '@gateway/service-kit';

/** Outcomes of decisions: admitted, opened, gone, fault, or the code of the refusal. */
export const decisionsTotal = counter('gateway_admission_decisions_total', 'Decisions by outcome or error code', {
  outcome: ['admitted', 'repeated', 'counted', 'opened', 'gone', 'fault', ...ADMISSION_REFUSAL_CODES],
});

export const batchEntries = histogram(
  'gateway_admission_batch_entries',
  'Entries of one batch',
  [1, 2, 4, 8, 16, 32, 64, 128, 256],
);

export const pipelineSeconds = histogram(
  'gateway_admission_pipeline_seconds',
  'Time from sending the scripts of a batch to their replies',
  [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25, 1, 2],
);

export const slotsFreed = counter(
  'gateway_admission_slots_expired_total',
  'Slots whose lease lapsed without a heartbeat',
);
export const holdsQueried = counter('gateway_admission_holds_checked_total', 'Due holds looked up in the ledger');
export const holdsExpired = counter('gateway_admission_holds_expired_total', 'Calls that were recorded as expired');
export const questionsDropped = counter(
  'gateway_admission_hold_checks_dropped_total',
  'Questions for the records of due holds that were left for later because too many waited',
);

/** Holds in all buckets at the last poll. */
export const holdsKept = { count: 0 };

gauge(
  'gateway_admission_holds',
  'Holds in the limit store: calls that run, that wait for their charge or their end, and ended ones that are still remembered',
  () => holdsKept.count,
);
