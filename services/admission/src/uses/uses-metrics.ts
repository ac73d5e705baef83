import { counter } from '@gateway/service-kit';

export const refusalsDropped = counter(
  'gateway_admission_refusals_dropped_total',
  'Refused calls that billing is not told of because too many waited to be told',
);
