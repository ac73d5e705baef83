import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { CatalogSource } from '@gateway/contracts/messages';
import { type Logger, ThrottledLog, counter } from '@gateway/service-kit';
import type { AttemptJudgment } from '../errors/judge-attempt.js';
import {
  type AuthorizationHeaders,
  type Authorizer,
  type Authorizers,
  CredentialError,
  type FixedAuth,
  type SignedAuth,
} from '../ports.js';
import { type SourceHealth, isCoolingDown, recordOutcome } from '../sources/source-order.js';
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

/** Most keys of one source. */
const KEYS_MAX = 64;

const keyList = z.array(z.string().min(1)).min(1).max(KEYS_MAX);

/** Returns whether a credential is a list of keys. No single key begins with "[". */
export function isKeyList(credential: string): boolean {
  return credential.startsWith('[');
}

/**
 * Several keys of one source, used in turn. A key that is rate-limited or refused gets its own
 * cooldown. The source gets one only when all its keys have one.
 */
export class KeyRing implements Authorizer {
  readonly kind = 'keys';
  readonly #headers: readonly (readonly string[])[];
  readonly #healths: (SourceHealth | undefined)[];
  readonly #nowMs: () => number;
  #next = 0;

  /**
   * @param credential a JSON list of keys
   * @param nowMs epoch milliseconds
   * @throws CredentialError if it is not a valid list
   */
  constructor(auth: FixedAuth, credential: string, nowMs: () => number) {
    const keys = readKeys(credential);
    this.#headers = keys.map((key) =>
      auth.type === 'bearer' ? ['authorization', `Bearer ${key}`] : [auth.header.toLowerCase(), key],
    );
    this.#healths = keys.map(() => undefined);
    this.#nowMs = nowMs;
  }

  headersFor(): AuthorizationHeaders {
    const nowMs = this.#nowMs();
    const count = this.#headers.length;
    let version = this.#next;
    for (let step = 0; step < count; step += 1) {
      const at = (this.#next + step) % count;
      if (isCoolingDown(this.#healths[at], nowMs)) continue;
      version = at;
      break;
    }
    this.#next = (version + 1) % count;
    return { headers: this.#headers[version] ?? [], version };
  }

  mayReplace(version: number): boolean {
    const nowMs = this.#nowMs();
    return this.#healths.some((health, at) => at !== version && !isCoolingDown(health, nowMs));
  }

  judged(version: number, judged: AttemptJudgment, account: string): void {
    // Failures of the provider say nothing about the key.
    const ofKey = { ...judged, countsAsFailure: false, ...judged.keyRest };
    this.#healths[version] = recordOutcome(this.#healths[version], ofKey, this.#nowMs(), account);
  }
}

function readKeys(credential: string): string[] {
  try {
    const parsed = keyList.safeParse(JSON.parse(credential));
    if (parsed.success) return [...new Set(parsed.data)];
  } catch {
    // The parser's own message would quote the text.
  }
  throw new CredentialError(`the key list is unusable: it must be a JSON array of 1 to ${KEYS_MAX} strings`);
}
