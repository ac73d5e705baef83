import type { AccountsStore } from '../ports.js';

/** Which key a secret belongs to now; a rotated-away one belongs to none. Its state is not judged here. */
export async function findKey(
  store: AccountsStore,
  { digests }: { readonly digests: readonly string[] },
): Promise<{ found: { account: string; key: string; digest: string } | null }> {
  const key = await store.findKey(digests);
  return { found: key && { account: key.account, key: key.id, digest: key.digest } };
}
