import type { AttemptJudgment } from '../errors/judge-attempt.js';
import {
  type AuthorizationHeaders,
  type Authorizer,
  CredentialError,
  type SignedAuth,
  type TokenHttp,
} from '../ports.js';
import { fetchAwsKeys } from './aws-keys.js';
import { awsKeys, readCredential } from './credential-text.js';
import { makeEntraFetcher } from './entra.js';
import { type CurrentCredential, ExpiringCredential, type IssuedCredential } from './expiring-credential.js';
import { makeGoogleFetcher, usesEnvironment } from './google.js';
import { RequestSigner, makeFixedKeys } from './request-signer.js';

/** A cloud whose credentials a process may take from its environment. */
export type Cloud = 'aws' | 'google' | 'entra';

export interface AuthorizerParts {
  readonly http: TokenHttp;
  /** Clouds whose credentials from the environment may be used. */
  readonly surroundings: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Epoch milliseconds. */
  readonly nowMs: () => number;
  readonly random: () => number;
  /** Called when a fetch has ended. `reason` is null after a success, and contains no secret. */
  readonly ended: (auth: SignedAuth, reason: string | null) => void;
}

/**
 * Returns the authorizer for a credential; null selects the credential of the environment.
 * @throws CredentialError if the credential cannot be used
 */
export function makeAuthorizer(auth: SignedAuth, credential: string | null, parts: AuthorizerParts): Authorizer {
  const { nowMs, random, ended } = parts;
  const expiring = <T>(fetch: () => Promise<IssuedCredential<T>>): ExpiringCredential<T> =>
    new ExpiringCredential({ fetch, nowMs, random, ended: (reason) => ended(auth, reason) });
  switch (auth.type) {
    case 'sigv4': {
      if (credential !== null)
        return new RequestSigner(auth, makeFixedKeys(readCredential(awsKeys, 'sigv4', credential)), nowMs);
      checkAllowed('aws', parts);
      return new RequestSigner(auth, expiring(fetchAwsKeys(auth.region, parts)), nowMs);
    }
    case 'google':
      if (credential === null || usesEnvironment(credential)) checkAllowed('google', parts);
      return new BearerToken(expiring(makeGoogleFetcher(auth.scope, credential, parts)));
    case 'entra':
      if (credential === null) checkAllowed('entra', parts);
      return new BearerToken(expiring(makeEntraFetcher(auth.scope, credential, parts)));
  }
}

function checkAllowed(cloud: Cloud, { surroundings }: AuthorizerParts): void {
  if (surroundings.includes(cloud)) return;
  throw new CredentialError(
    `the source would use a credential of the edge's environment: add ${cloud} to GATEWAY_CLOUD_CREDENTIALS to allow it`,
  );
}

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
