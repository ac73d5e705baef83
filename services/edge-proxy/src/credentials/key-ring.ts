import { z } from 'zod';
import type { AttemptJudgment } from '../errors/judge-attempt.js';
import { isCoolingDown, recordOutcome, type SourceHealth } from '../sources/source-order.js';
import { CredentialError, type AuthorizationHeaders, type Authorizer, type FixedAuth } from '../ports.js';

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
