import { counter } from '@gateway/service-kit';

/** Loads of accounts from their owners, by how they ended. */
export const loadsTotal = counter('gateway_admission_loads_total', 'Loads of an account from its owners', {
  outcome: ['loaded', 'void', 'accounts_failed', 'billing_failed'],
});
