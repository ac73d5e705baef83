import { counter, histogram } from '@gateway/service-kit';

const ROWS = Array.from({ length: 20 }, (_unused, index) => String(index + 4));

/** Decisions: admitted, opened, gone, fault, or the rank of the refusal. */
export const decisionsTotal = counter('gateway_admission_decisions_total', 'Decisions by outcome or refusing row', {
  outcome: ['admitted', 'repeated', 'counted', 'opened', 'gone', 'fault', ...ROWS],
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
