import type { AccountTerms, KeyRecord } from '@gateway/contracts/messages';
import { bucketOfAccount } from '@gateway/contracts/ids';
import type { BucketKeys } from '../domain/gate-keys.js';
import { bucketKeys } from '../domain/gate-keys.js';
import type { KnownAccount } from '../domain/prepare-call.js';
import { BoundedMap } from './bounded-map.js';

/** Which account and key a digest leads to: a route, never a decision. */
export interface Route {
  readonly account: string;
  readonly key: string;
  readonly keys: BucketKeys;
}

const ROUTES_MAX = 100_000;
const KEYS_MAX = 50_000;
const ACCOUNTS_MAX = 50_000;

/** What this process remembers. Each decision verifies it by version, so it may be old but never wrong. */
export class Known {
  readonly #routes = new BoundedMap<string, Route>(ROUTES_MAX);
  readonly #keys = new BoundedMap<string, KeyRecord>(KEYS_MAX);
  readonly #terms = new BoundedMap<string, { terms: AccountTerms; version: string }>(ACCOUNTS_MAX);

  route(digests: readonly string[]): Route | null {
    for (const digest of digests) {
      const route = this.#routes.get(digest);
      if (route !== undefined) return route;
    }
    return null;
  }

  keepRoute(digest: string, account: string, key: string): Route {
    const route = { account, key, keys: bucketKeys(bucketOfAccount(account)) };
    this.#routes.set(digest, route);
    return route;
  }

  dropRoute(digest: string): void {
    this.#routes.delete(digest);
  }

  /** Null unless both records are known. */
  account(route: Route): KnownAccount | null {
    const key = this.#keys.get(route.key);
    const terms = this.#terms.get(route.account);
    return key && terms ? { key, terms: terms.terms, termsVersion: terms.version } : null;
  }

  keepAccount(route: Route, key: KeyRecord, terms: AccountTerms, termsVersion: string): void {
    this.#keys.set(route.key, key);
    // The same object for the same version: what is computed of it once is kept with it.
    if (this.#terms.get(route.account)?.version !== termsVersion) {
      this.#terms.set(route.account, { terms, version: termsVersion });
    }
  }
}
