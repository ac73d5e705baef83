import { createHash } from 'node:crypto';
import type { CatalogSource } from '@gateway/contracts/messages';
import { type Logger, ThrottledLog, counter } from '@gateway/service-kit';
import type { Authorizer, Authorizers, SignedAuth } from '../ports.js';
import { KeyRing, isKeyList } from './key-ring.js';
import type { AuthorizerParts } from './make-authorizer.js';

interface Shared {
  readonly key: string;
  readonly authorizer: Authorizer;
  users: number;
}

/**
 * Holds one authorizer for each distinct credential, so that all its sources share one token. An
 * authorizer is kept as long as a source in the catalog uses its credential. Key lists are not
 * shared between sources, since a provider's limits often apply per model.
 */
export class SharedAuthorizers implements Authorizers {
  readonly #make: (auth: SignedAuth, credential: string | null) => Authorizer;
  readonly #nowMs: () => number;
  readonly #byKey = new Map<string, Shared>();
  readonly #byAuthorizer = new Map<Authorizer, Shared>();

  /** @param nowMs epoch milliseconds */
  constructor(make: (auth: SignedAuth, credential: string | null) => Authorizer, nowMs: () => number) {
    this.#make = make;
    this.#nowMs = nowMs;
  }

  acquire(auth: CatalogSource['auth'], credential: string | null): Authorizer | null {
    if (auth.type !== 'bearer' && auth.type !== 'header') return this.#shared(auth, credential);
    return credential !== null && isKeyList(credential) ? new KeyRing(auth, credential, this.#nowMs) : null;
  }

  release(authorizer: Authorizer): void {
    const shared = this.#byAuthorizer.get(authorizer);
    if (shared === undefined) return;
    shared.users -= 1;
    if (shared.users > 0) return;
    this.#byKey.delete(shared.key);
    this.#byAuthorizer.delete(authorizer);
  }

  #shared(auth: SignedAuth, credential: string | null): Authorizer {
    const key = computeKey(auth, credential);
    let shared = this.#byKey.get(key);
    if (shared === undefined) {
      shared = { key, authorizer: this.#make(auth, credential), users: 0 };
      this.#byKey.set(key, shared);
      this.#byAuthorizer.set(shared.authorizer, shared);
    }
    shared.users += 1;
    return shared.authorizer;
  }
}

/** Returns a digest, so that the map does not keep the credential's text. */
function computeKey(auth: SignedAuth, credential: string | null): string {
  const members = Object.entries(auth).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([members, credential]))
    .digest('base64');
}

/** Shortest time between two log lines about failed fetches of one kind of credential. */
const FAILED_LOG_MS = 60_000;

/** Counts fetches of credentials, and logs failed ones. */
export function watchRefreshes(log: Logger): AuthorizerParts['ended'] {
  const refreshes = counter(
    'gateway_edge_credential_refreshes_total',
    'Requests for credentials that expire, by outcome',
    { outcome: ['issued', 'failed'] },
  );
  const failed = new ThrottledLog(log, 'expiring credential cannot be refreshed', { everyMs: FAILED_LOG_MS });
  return ({ type }, reason) => {
    refreshes.of({ outcome: reason === null ? 'issued' : 'failed' }).add();
    if (reason !== null) failed.warn({ auth: type, reason }, `${type} ${reason}`);
  };
}
