const COST = 'cost';
const PROVIDER_COST = 'provider-cost:';

/**
 * Whether an entry is the customer's to see. What providers charge the deployment is its operators'
 * alone.
 */
export function isCustomersEntry({ ledgerAccount }: { readonly ledgerAccount: string }): boolean {
  return ledgerAccount !== COST && !ledgerAccount.startsWith(PROVIDER_COST);
}

/**
 * A ledger transaction as a customer sees it: entries of costs balance one another, so the rest
 * still sums to zero.
 */
export function customersTransaction<T extends { readonly entries: readonly { readonly ledgerAccount: string }[] }>(
  transaction: T,
): T {
  return { ...transaction, entries: transaction.entries.filter(isCustomersEntry) };
}
