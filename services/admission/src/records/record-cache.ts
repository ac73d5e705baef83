import type { AccountTerms, KeyRecord } from '@gateway/contracts/messages';
import { bucketOfAccount } from '@gateway/contracts/ids';
import type { BucketKeys } from '../limit-store/key-rules.js';
import { findBucketKeys } from '../limit-store/key-rules.js';
import type { CachedAccount } from '../admit/prepare-call-rules.js';
import { BoundedMap } from './bounded-map.js';

/**
 * The account and key that a digest belongs to. It only finds records and never decides anything.
 */
export interface KeyReference {
  readonly account: string;
  readonly key: string;
  readonly keys: BucketKeys;
}

export interface FoundKeyReference {
  readonly keyReference: KeyReference;
  /** The owner of keys has just returned it, so its digest is the key's current one. */
  readonly fresh: boolean;
}

const ROUTES_MAX = 100_000;
const KEYS_MAX = 50_000;
const ACCOUNTS_MAX = 50_000;

/**
 * Records that this process remembers. Each decision verifies their versions, so they may be old
 * but never wrong.
 */
export class RecordCache {
  readonly #routes = new BoundedMap<string, KeyReference>(ROUTES_MAX);
  readonly #keys = new BoundedMap<string, KeyRecord>(KEYS_MAX);
  readonly #terms = new BoundedMap<string, { terms: AccountTerms; version: string }>(ACCOUNTS_MAX);

  keyReference(digests: readonly string[]): KeyReference | null {
    for (const digest of digests) {
      const keyReference = this.#routes.get(digest);
      if (keyReference !== undefined) return keyReference;
    }
    return null;
  }

  keepRoute(digest: string, account: string, key: string): KeyReference {
    const keyReference = { account, key, keys: findBucketKeys(bucketOfAccount(account)) };
    this.#routes.set(digest, keyReference);
    return keyReference;
  }

  dropRoute(digest: string): void {
    this.#routes.delete(digest);
  }

  /** Returns null unless both records are cached. */
  account(keyReference: KeyReference): CachedAccount | null {
    const key = this.#keys.get(keyReference.key);
    const terms = this.#terms.get(keyReference.account);
    return key && terms ? { key, terms: terms.terms, termsVersion: terms.version } : null;
  }

  keepAccount(keyReference: KeyReference, key: KeyRecord, terms: AccountTerms, termsVersion: string): void {
    this.#keys.set(keyReference.key, key);
    // Keeps the object for the same version, because computed values are cached with it.
    if (this.#terms.get(keyReference.account)?.version !== termsVersion) {
      this.#terms.set(keyReference.account, { terms, version: termsVersion });
    }
  }
}
