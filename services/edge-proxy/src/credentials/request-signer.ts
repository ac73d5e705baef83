import type { AttemptJudgment } from '../errors/judge-attempt.js';
import type { AuthorizationHeaders, Authorizer, RequestToAuthorize } from '../ports.js';
import type { AwsKeys } from './credential-text.js';
import type { CurrentCredential } from './expiring-credential.js';
import { type SigningScope, computeSha256, signRequest } from './sign-request.js';

/** Supplies the keys of a signer, which may be fixed or expiring. */
export interface KeySource {
  get(): CurrentCredential<AwsKeys> | Promise<CurrentCredential<AwsKeys>>;
  mayReplace(version: number): boolean;
  replace(version: number): void;
}

/** Returns keys that do not expire and have no replacement. */
export function makeFixedKeys(keys: AwsKeys): KeySource {
  const held = { value: keys, version: 1 };
  return { get: () => held, mayReplace: () => false, replace: () => undefined };
}

/**
 * Signs each request with AWS Signature Version 4. The signature covers method, path, query, host,
 * content type, the hash of the body as it is sent, the time, and the session token if there is
 * one.
 */
export class RequestSigner implements Authorizer {
  readonly kind = 'token';
  readonly #scope: SigningScope;
  readonly #keys: KeySource;
  readonly #nowMs: () => number;

  /** @param nowMs epoch milliseconds */
  constructor(scope: SigningScope, keys: KeySource, nowMs: () => number) {
    this.#scope = scope;
    this.#keys = keys;
    this.#nowMs = nowMs;
  }

  headersFor({ origin, path, headers, body }: RequestToAuthorize): Promise<AuthorizationHeaders> {
    const held = this.#keys.get();
    // A promise that rejects before it is awaited would count as an unhandled rejection.
    if (held instanceof Promise) held.catch(() => undefined);
    return this.#sign(origin, path, findContentType(headers), held, computeSha256(body));
  }

  mayReplace(version: number): boolean {
    return this.#keys.mayReplace(version);
  }

  judged(version: number, { step }: AttemptJudgment): void {
    if (step === 'fresh_credential') this.#keys.replace(version);
  }

  async #sign(
    origin: string,
    path: string,
    contentType: Readonly<Record<string, string>>,
    keys: CurrentCredential<AwsKeys> | Promise<CurrentCredential<AwsKeys>>,
    sha256: string | Promise<string>,
  ): Promise<AuthorizationHeaders> {
    const signedHeaders = { ...contentType, 'x-amz-content-sha256': await sha256 };
    const { value, version } = await keys;
    const request = { method: 'POST', origin, path, headers: signedHeaders };
    return { headers: await signRequest(request, this.#scope, value, this.#nowMs()), version };
  }
}

function findContentType(headers: readonly string[]): Record<string, string> {
  const at = headers.indexOf('content-type');
  const value = headers[at + 1];
  return at < 0 || value === undefined ? {} : { 'content-type': value };
}
