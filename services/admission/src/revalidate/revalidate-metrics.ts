import { counter } from '@gateway/service-kit';

/** Accounts that the limit store had kept through a loss of its epoch, by what became of them. */
export const revalidated = counter(
  'gateway_admission_revalidated_total',
  'Accounts that were kept through a loss of the limit store: confirmed at once, or loaded at their first call',
  { outcome: ['confirmed', 'changed', 'left'] },
);
