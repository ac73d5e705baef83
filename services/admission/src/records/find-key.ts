import { NO_KEY_REFERENCE } from '../limit-store/key-rules.js';
import { AdmissionFault, type Ports } from '../ports.js';
import type { DecisionContext } from './load-account.js';
import type { FoundKeyReference, KeyReference, RecordCache } from './record-cache.js';

/**
 * Finds the key of the digests in this process, then in Redis, then at the owner of keys. Returns
 * null if they belong to no key. Redis remembers that for some seconds for all replicas; writing a
 * key reference replaces it at once.
 * @throws AdmissionFault `lookup_failed` when the key cannot be looked up
 */
export async function findRoute(
  { ports, cache, routing }: Pick<DecisionContext, 'ports' | 'cache' | 'routing'>,
  digests: readonly string[],
): Promise<FoundKeyReference | null> {
  const keyReference = cache.keyReference(digests);
  if (keyReference !== null) return { keyReference, fresh: false };
  return routing.join(digests.join(), () => lookUp(ports, cache, digests));
}

async function lookUp(
  { limitStore, owners }: Pick<Ports, 'limitStore' | 'owners'>,
  cache: RecordCache,
  digests: readonly string[],
): Promise<FoundKeyReference | null> {
  const stored = await limitStore.routes(digests);
  const remembered = readRoute(cache, digests, stored);
  if (remembered !== null) return { keyReference: remembered, fresh: false };
  if (stored.every((text) => text === NO_KEY_REFERENCE)) return null;
  const found = await owners.find(digests).catch((cause: unknown) => {
    throw new AdmissionFault('lookup_failed', 'accounts did not respond to a key look-up', { cause });
  });
  if (found === null) {
    await limitStore.setMisses(digests);
    return null;
  }
  const keyReference = cache.keepRoute(found.digest, found.account, found.key);
  await limitStore.setRoute(found.digest, routeText(found.account, found.key));
  return { keyReference, fresh: true };
}

/** Returns the key reference in Redis, without a request to the owner. */
export async function storedRoute(
  limitStore: Ports['limitStore'],
  cache: RecordCache,
  digests: readonly string[],
): Promise<KeyReference | null> {
  return readRoute(cache, digests, await limitStore.routes(digests));
}

function readRoute(
  cache: RecordCache,
  digests: readonly string[],
  stored: readonly (string | null)[],
): KeyReference | null {
  for (const [index, text] of stored.entries()) {
    const [account, key] = text?.split('|') ?? [];
    const digest = digests[index];
    if (account && key && digest) return cache.keepRoute(digest, account, key);
  }
  return null;
}

/** Removes the references of a key that its owner does not know, in this process and in Redis. */
export async function evictKeyReference(
  limitStore: Ports['limitStore'],
  cache: RecordCache,
  digests: readonly string[],
): Promise<void> {
  for (const digest of digests) {
    cache.dropRoute(digest);
    await limitStore.dropRoute(digest);
  }
}

/**
 * Stores the owner's key references. They replace everything that was remembered about the digests.
 */
export async function storeRoutes(
  limitStore: Ports['limitStore'],
  keys: readonly { readonly digest: string; readonly account: string; readonly key: string }[],
): Promise<void> {
  await Promise.all(keys.map(({ digest, account, key }) => limitStore.setRoute(digest, routeText(account, key))));
}

function routeText(account: string, key: string): string {
  return `${account}|${key}`;
}
