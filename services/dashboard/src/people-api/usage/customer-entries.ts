const COST = 'cost';
const PROVIDER_COST = 'provider-cost:';

/** Returns whether a customer may see an entry. Provider costs are hidden. */
export function isCustomersEntry({ ledgerAccount }: { readonly ledgerAccount: string }): boolean {
  return ledgerAccount !== COST && !ledgerAccount.startsWith(PROVIDER_COST);
}

/**
 * Returns a ledger transaction without cost entries. Cost entries balance each other, so the rest
 * still sums to zero.
 */
export function customersTransaction<T extends { readonly entries: readonly { readonly ledgerAccount: string }[] }>(
  transaction: T,
): T {
  return { ...transaction, entries: transaction.entries.filter(isCustomersEntry) };
}
