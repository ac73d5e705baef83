import { counter, gauge } from '@gateway/service-kit';

export const slotsFreed = counter('gateway_admission_slots_lapsed_total', 'Slots whose lease lapsed without a beat');
export const holdsAsked = counter('gateway_admission_holds_asked_total', 'Due holds for which the ledger was asked');
export const holdsExpired = counter('gateway_admission_holds_expired_total', 'Calls that were recorded as expired');
export const questionsDropped = counter(
  'gateway_admission_questions_dropped_total',
  'Questions for the records of due holds that were left for later because too many waited',
);

/** Of all buckets, as the last look saw them. */
export const holdsKept = { count: 0 };

gauge(
  'gateway_admission_holds',
  'Holds in the gate: calls that run, that wait for their charge or their end, and ended ones that are still remembered',
  () => holdsKept.count,
);
