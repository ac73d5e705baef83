import type { AttemptJudgment } from '../errors/judge-attempt.js';
import type { AuthorizationHeaders, Authorizer } from '../ports.js';
import type { ExpiringCredential, CurrentCredential } from './expiring-credential.js';

/** Authorizes requests with an expiring bearer token. */
export class BearerToken implements Authorizer {
  readonly kind = 'token';
  readonly #token: ExpiringCredential<string>;

  constructor(token: ExpiringCredential<string>) {
    this.#token = token;
  }

  headersFor(): AuthorizationHeaders | Promise<AuthorizationHeaders> {
    const held = this.#token.get();
    return held instanceof Promise ? held.then(authorizedBy) : authorizedBy(held);
  }

  mayReplace(version: number): boolean {
    return this.#token.mayReplace(version);
  }

  judged(version: number, { step }: AttemptJudgment): void {
    if (step === 'fresh_credential') this.#token.replace(version);
  }
}

function authorizedBy({ value, version }: CurrentCredential<string>): AuthorizationHeaders {
  return { headers: ['authorization', `Bearer ${value}`], version };
}
