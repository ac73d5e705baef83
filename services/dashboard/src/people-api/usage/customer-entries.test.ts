import { expect, test } from '@jest/globals';
import { toCustomerTransaction } from './customer-lines.js';

test('customersTransaction() keeps charges and drops provider costs', () => {
  const charged = [
    { ledgerAccount: 'wallet:acc_1', amountUsd: '-0.01' },
    { ledgerAccount: 'revenue:wallet', amountUsd: '0.01' },
  ];
  const costs = [
    { ledgerAccount: 'cost', amountUsd: '-0.005' },
    { ledgerAccount: 'provider-cost:acme', amountUsd: '0.005' },
  ];
  expect(toCustomerTransaction({ id: 'txn_1', entries: [...charged, ...costs] })).toEqual({
    id: 'txn_1',
    entries: charged,
  });
});
